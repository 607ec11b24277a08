"""Promise: an output is there complete or not at all, and nothing that exists is replaced unasked."""

import hashlib
import os
import stat

import prepare_testing

from reprise.prepare.failure import IO, USAGE
from reprise.prepare.output_file import OutputFile, check_output


class OutputFileTest(prepare_testing.FolderTest):
    def made(self, name: str = "out") -> OutputFile:
        file = OutputFile(self.path(name))
        self.addCleanup(file.discard)
        file.write(b"a\n")
        file.write("é\n".encode())
        return file

    def test_the_name_appears_only_when_it_is_published(self) -> None:
        file = self.made()
        file.finish()
        self.assertFalse(os.path.exists(self.path("out")))
        file.publish(force=False)
        self.assertEqual(self.read("out"), "a\né\n".encode())
        self.assertEqual(os.listdir(self.folder), ["out"])
        self.assertEqual((file.rows, file.size, file.sha256()), (2, 5, hashlib.sha256(self.read("out")).hexdigest()))

    def test_what_is_discarded_leaves_nothing(self) -> None:
        for finishes in (False, True):
            file = self.made()
            if finishes:
                file.finish()
            file.discard()
            file.discard()
            self.assertEqual(os.listdir(self.folder), [])

    def test_a_name_that_is_taken_meanwhile_is_not_replaced_unasked(self) -> None:
        file = self.made()
        file.finish()
        self.write("out", "mine")
        self.assert_fails("has been made by another program meanwhile", USAGE, file.publish, False)
        self.assertEqual(self.read("out"), b"mine")
        file.publish(force=True)
        self.assertEqual(len(self.read("out")), 5)

    def test_the_permissions_are_those_of_any_new_file(self) -> None:
        before = os.umask(0o027)
        self.addCleanup(os.umask, before)
        file = self.made()
        file.finish()
        file.publish(False)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("out")).st_mode), 0o640)

    def test_lines_can_be_read_again(self) -> None:
        self.assertEqual(list(self.made().lines_again()), [b"a\n", "é\n".encode()])

    def test_a_full_disk_is_an_error_of_input_and_output(self) -> None:
        file = self.made()
        with open("/dev/full", "wb", buffering=0) as full:
            os.dup2(full.fileno(), file._file.fileno())
        self.assert_fails("cannot write .*out: No space left on device", IO, file.finish)
        file.discard()
        self.assertEqual(os.listdir(self.folder), [])


class CheckOutputTest(prepare_testing.FolderTest):
    def test_a_source_is_never_overwritten(self) -> None:
        source = self.write("a", "x")
        os.symlink(source, self.path("link"))
        os.link(source, self.path("hard"))
        for name in ("a", "./a", "link", "hard"):
            self.assert_fails("would overwrite the source", USAGE, check_output, self.path(name), "--output", [source],
                              True)
        os.symlink(self.path("later"), self.path("ahead"))
        self.assert_fails("is not a regular file", USAGE, check_output, self.path("ahead"), "--output", [source], True)

    def test_an_existing_file_needs_force(self) -> None:
        path = self.write("out", "x")
        self.assert_fails("--output .*out exists: choose another name, or replace it by --force", USAGE, check_output,
                          path, "--output", [], False)
        check_output(path, "--output", [], True)
        check_output(self.path("new"), "--output", [], False)

    def test_a_folder_or_a_device_is_no_output(self) -> None:
        self.assert_fails("is not a regular file", USAGE, check_output, self.folder, "--output", [], True)
        self.assert_fails("is not a regular file", USAGE, check_output, "/dev/null", "--output", [], True)
        self.assert_fails("the folder .*none does not exist", USAGE, check_output, self.path("none/out"), "--output",
                          [], False)


if __name__ == "__main__":
    prepare_testing.main()
