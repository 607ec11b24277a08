#include "tests/cli/cli.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/testing/goldens.h"

namespace reprise::testing {

ProcessResult RunVerb(const std::string& verb, const std::vector<std::string>& arguments) {
  std::vector<std::string> line = {"pipelines/" + verb};
  line.insert(line.end(), arguments.begin(), arguments.end());
  return RunProcess(line, {});
}

std::string MakeDirectory() {
  const std::string directory = UniqueTemporaryPath();
  std::filesystem::create_directories(directory);
  return directory;
}

std::string WriteFile(const std::string& directory, const std::string& name, const std::string& contents) {
  const std::string path = directory + "/" + name;
  std::ofstream(path, std::ios::binary) << contents;
  return path;
}

std::string TrainTinyRun(const std::vector<std::string>& overrides) {
  const std::string directory = MakeDirectory();
  std::vector<std::string> arguments = {WriteFile(directory, "tiny.toml", kTinyRun), "--output", directory + "/run",
                                        "--quiet"};
  for (const std::string& override : overrides) arguments.insert(arguments.end(), {"--set", override});
  const ProcessResult result = RunVerb("train", arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return directory + "/run";
}

std::string CopyOfModel() {
  const std::string directory = MakeDirectory();
  for (const auto& file : std::filesystem::directory_iterator(GoldensDirectory() + "/models/nano")) {
    WriteFile(directory, file.path().filename(), Contents(file.path()));
  }
  return directory;
}

std::vector<nlohmann::json> JsonLines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false));
    EXPECT_TRUE(lines.back().is_object()) << line;
  }
  return lines;
}

nlohmann::json RunForJson(const std::string& verb, std::vector<std::string> arguments, int exit_code) {
  arguments.push_back("--json");
  const ProcessResult result = RunVerb(verb, arguments);
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  const std::vector<nlohmann::json> lines = JsonLines(result.out);
  EXPECT_EQ(lines.size(), 1);
  return lines.empty() ? nlohmann::json::object() : lines[0];
}

}  // namespace reprise::testing
