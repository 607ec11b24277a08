#include "core/log/logger.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

// Returns what the logger writes when `speak` is called with it.
template <typename Speak>
std::string Written(LoggerOptions options, const Speak& speak) {
  std::FILE* file = std::tmpfile();
  options.stream = file;
  {
    Logger logger(options);
    speak(logger);
  }
  std::string text(static_cast<size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  const size_t read = std::fread(text.data(), 1, text.size(), file);
  std::fclose(file);
  return text.substr(0, read);
}

void SayEverything(Logger& logger) {
  logger.Info("b");
  logger.Warning("c");
  logger.Error("d");
}

TEST(LoggerTest, WritesPlainLines) { EXPECT_EQ(Written({}, SayEverything), "b\nwarning: c\nerror: d\n"); }

TEST(LoggerTest, LogsLessWhenQuiet) {
  EXPECT_EQ(Written({.verbosity = Verbosity::kQuiet}, SayEverything), "warning: c\nerror: d\n");
}

TEST(LoggerTest, OnlyRankZeroLogs) {
  EXPECT_EQ(Written({.rank = 1, .columns = 80},
                    [](Logger& logger) {
                      SayEverything(logger);
                      logger.StatusLine("e");
                    }),
            "");
}

TEST(LoggerTest, APrefixIsInFrontOfEveryLineAndOfTheStatusLine) {
  EXPECT_EQ(Written({.prefix = "grpo\n: "}, SayEverything), "grpo\\n: b\ngrpo\\n: warning: c\ngrpo\\n: error: d\n");
  EXPECT_EQ(Written({.prefix = "abc: ", .columns = 8}, [](Logger& logger) { logger.StatusLine("defg"); }),
            "\r\x1b[Kabc: de\r\x1b[K");
}

TEST(LoggerTest, WritesLinesVerbatim) {
  EXPECT_EQ(Written({}, [](Logger& logger) { logger.Info("{} %v %d {0}"); }), "{} %v %d {0}\n");
}

// The text may come from a file or another program.
TEST(LoggerTest, EscapesControlCharacters) {
  EXPECT_EQ(Written({}, [](Logger& logger) { logger.Warning("a\x1b[2Jb\nc\xc2\x9b"); }),
            "warning: a\\x1b[2Jb\\nc\\xc2\\x9b\n");
  EXPECT_EQ(Written({.columns = 80}, [](Logger& logger) { logger.StatusLine("\x1b[2J\n"); }),
            "\r\x1b[K\\x1b[2J\\n\r\x1b[K");
}

TEST(LoggerTest, RewritesTheStatusLineAndErasesItBeforeOtherLines) {
  EXPECT_EQ(Written({.columns = 80},
                    [](Logger& logger) {
                      logger.StatusLine("1/2");
                      logger.StatusLine("2/2");
                      logger.Info("done");
                      logger.Info("really");
                    }),
            "\r\x1b[K1/2\r\x1b[K2/2\r\x1b[Kdone\nreally\n");
}

TEST(LoggerTest, ErasesTheStatusLineOnDestruction) {
  EXPECT_EQ(Written({.columns = 80}, [](Logger& logger) { logger.StatusLine("1/2"); }), "\r\x1b[K1/2\r\x1b[K");
}

TEST(LoggerTest, TruncatesTheStatusLineToTheTerminalsWidth) {
  EXPECT_EQ(Written({.columns = 5}, [](Logger& logger) { logger.StatusLine("123456789"); }), "\r\x1b[K1234\r\x1b[K");
}

TEST(LoggerTest, HasNoStatusLineWithoutATerminalOrWhenQuiet) {
  const auto speak = [](Logger& logger) {
    EXPECT_FALSE(logger.ShowsStatusLine());
    logger.StatusLine("1/2");
  };
  EXPECT_EQ(Written({}, speak), "");  // a file is not a terminal
  EXPECT_EQ(Written({.columns = 0}, speak), "");
  EXPECT_EQ(Written({.verbosity = Verbosity::kQuiet, .columns = 80}, speak), "");
}

TEST(LoggerTest, WritesLinesOfManyThreadsWhole) {
  const std::string text = Written({.columns = 80}, [](Logger& logger) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int line = 0; line < 100; ++line) logger.Info("0123456789");
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  ASSERT_EQ(lines.size(), 401u);
  for (size_t i = 0; i < 400; ++i) EXPECT_EQ(lines[i], "0123456789");
}

TEST(LoggerTest, IgnoresAStreamThatCannotBeWritten) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  {
    Logger logger({.stream = full});
    logger.Error("this is lost");
  }
  std::fclose(full);
}

}  // namespace
}  // namespace reprise
