"""Checks that every source file of the repository follows the rules in rules.py."""

import collections
import unittest

import exceptions
import repository
import rules
from source_file import BELOW


class ArchitectureTest(unittest.TestCase):

    def test_every_source_follows_the_rules(self):
        faults = rules.faults_of_tree(repository.read(repository.root()))
        left, unused = rules.without_exceptions(faults, exceptions.EXCEPTIONS)
        if left:
            self.fail("\n".join(["broken rules:", *map(str, left)]))
        self.assertEqual(unused, [], "exceptions.py has entries that no fault needs: delete them")

    def test_the_whole_tree_was_read(self):
        layers = collections.Counter(path.split("/")[0] for path in repository.read(repository.root()))
        for layer in BELOW:
            self.assertGreater(layers[layer], 3, layer)
        self.assertGreater(sum(layers.values()), 400)


if __name__ == "__main__":
    unittest.main()
