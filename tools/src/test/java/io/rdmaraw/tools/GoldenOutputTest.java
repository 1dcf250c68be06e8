package io.rdmaraw.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.testsuite.golden.GoldenOutput;
import io.rdmaraw.tools.run.JavaCommand;
import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares the output of the commands of this module with recorded files; see {@link GoldenOutput}. */
class GoldenOutputTest {
    private static final String DEVICE = "-d soft:loop:golden";

    /** Runs in addition to the help texts. For each command, valid runs precede invalid ones. */
    private static final List<String> RUNS = List.of(
            "demo " + DEVICE + " -D 0.3",
            "demo -D 0",
            "demo dns --port many",
            "demo http --port many",
            "demo sockets --loops 0",
            "devinfo -d soft:loop --list",
            "devinfo -d mlx5_99",
            "doctor -d soft:loop",
            "doctor soft:loop",
            "doctor --devices soft:loop",
            "devinfo soft:loop -d soft:loop",
            "pktgen tx " + DEVICE + " -n 10",
            "pktgen tx -T eth/sctp",
            "pktgen rx " + DEVICE,
            "bw " + DEVICE + " -F -n 100 --warm-up 0",
            "bw -P",
            "lat " + DEVICE + " -F -n 100 --warm-up 0.05 --latency-gap 1000",
            "lat -P -F -d soft:loop:nobody -E 02:00:00:00:00:02 --warm-up 0.1",
            "burst-lat " + DEVICE + " -F -n 100 --warm-up 0 --burst-size 10 --rate-limit 1000 --rate-units p",
            "burst-lat --reply-every 0",
            "flow-rate " + DEVICE + " -F -n 10 --rounds 1",
            "flow-rate -n 0",
            "top 999999999",
            "ss -tinp 999999999",
            "dump --pid 999999999",
            "dump -W 5",
            "asyncwatch soft:nothing",
            "asyncwatch",
            "completion now",
            "nothing");

    /** Runs handled by the launcher itself: the help of the launcher's commands, and invalid arguments. */
    private static final List<String> LAUNCHER_RUNS = List.of(
            "build --help", "build now",
            "hardware-check --help", "hardware-check", "hardware-check --typo", "hardware-check mlx5_0 --peer",
            "hardware-check mlx5_0 mlx5_1",
            "install --help", "install here",
            "java --help", "java",
            "release --help", "release",
            "site --help", "site now",
            "test --help", "test --typo", "test fast", "test NoSuchTestOfOurs", "test --faults many");

    /** Placeholder for the server's process id. */
    private static final String PROCESS = "PID";
    private static final List<String> RUNS_ON_A_SERVER = List.of("top -n 1 " + PROCESS, "ss -tinlp " + PROCESS);

    private static final String BUILDS = "builds the project, which tests are a part of";
    private static final Map<String, String> WITHOUT_A_RUN = Map.ofEntries(
            Map.entry("demo dns, plain", "ServerDemoTest runs it, where dig is installed"),
            Map.entry("demo http, plain", "ServerDemoTest runs it, where curl is installed"),
            Map.entry("demo sockets, plain", "takes ten seconds; SocketsOverCableTest runs it"),
            Map.entry("pktgen rx, plain", "it waits for a sender, with a line each second; CommandsTest has both"),
            Map.entry("dump, plain", "its lines have times; DumpCommandTest has them"),
            Map.entry("asyncwatch, plain", "it ends by a signal alone"),
            Map.entry("completion, plain", "prints 70 KB, of which the tests below look for what has to be there"),
            Map.entry("build, plain", BUILDS), Map.entry("install, plain", BUILDS), Map.entry("java, plain", BUILDS),
            Map.entry("release, plain", BUILDS), Map.entry("site, plain", BUILDS), Map.entry("test, plain", BUILDS),
            Map.entry("hardware-check, plain", BUILDS));

    static Stream<String> runs() {
        return Stream.concat(commands().map(command -> (command + " --help").strip()), RUNS.stream());
    }

    /** Returns all commands and subcommands, so that a new one is covered automatically. */
    private static Stream<String> commands() {
        Set<String> names = new TreeSet<>(Set.of(""));
        Main.commandLine().getSubcommands().forEach((name, command) -> {
            names.add(name);
            command.getSubcommands().keySet().forEach(sub -> names.add(name + ' ' + sub));
        });
        return names.stream();
    }

    @ParameterizedTest
    @MethodSource("runs")
    void outputOfACommandIsUnchanged(String arguments) {
        ToolRun run = ToolRun.of(arguments.split(" "));
        GoldenOutput.check(arguments, run.exitCode(), run.out(), run.err());
    }

    static Stream<String> launcherRuns() {
        return LAUNCHER_RUNS.stream();
    }

    /** These runs build nothing and do not look for a JDK. */
    @ParameterizedTest
    @MethodSource("launcherRuns")
    void outputOfTheLauncherIsUnchanged(String arguments, @TempDir Path directory) throws Exception {
        List<String> command = new ArrayList<>(List.of("../rdma-raw"));
        command.addAll(List.of(arguments.split(" ")));
        Path out = directory.resolve("out");
        Path err = directory.resolve("err");
        ProcessBuilder builder = new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
        builder.environment().put("PATH", "/usr/bin:/bin");
        int exitCode = builder.start().waitFor();
        GoldenOutput.check(arguments, exitCode, Files.readString(out), Files.readString(err));
    }

    /** Completion includes the commands that other programs run for the launcher, which picocli does not know. */
    @Test
    void completionKnowsTheCommandsOfTheLauncher() {
        ToolRun run = ToolRun.of("completion");
        assertEquals(0, run.exitCode(), run.err());
        for (String word : List.of("asyncwatch", "hardware-check", "report", "--echo-device", "_complete_rdma-raw")) {
            assertTrue(run.out().contains(word), word);
        }
    }

    /**
     * Completion includes each option in the help of the launcher's own commands. That help is plain text, separate
     * from the completion.
     */
    @Test
    void completionKnowsTheOptionsOfTheLauncher() throws Exception {
        Set<String> wrong = new TreeSet<>();
        String completion = ToolRun.of("completion").out();
        for (Path help : List.of(Path.of("../testsuite/src/test/resources/golden/sim-help.txt"), golden("test"),
                golden("hardware-check"), golden("release"), golden("site"))) {
            Matcher option = Pattern.compile("--[a-z][a-z0-9-]+").matcher(Files.readString(help));
            while (option.find()) {
                // Each option is a word in its command's list.
                if (!completion.contains("'" + option.group() + "'")) {
                    wrong.add(help.getFileName() + ": " + option.group());
                }
            }
        }
        assertEquals(Set.of(), wrong);
    }

    private static Path golden(String command) {
        return Path.of("src/test/resources/golden", command + "-help.txt");
    }

    /** Compares the output of commands that inspect an idle server. */
    @Test
    @Timeout(60)
    void outputOnARunningServerIsUnchanged() throws Exception {
        List<String> command = new ArrayList<>(JavaCommand.of("io.rdmaraw.examples.Main"));
        command.addAll(List.of("http", "--port", "0", "--threads", "1", "--device", "soft:loop:golden"));
        Process server = new ProcessBuilder(command).redirectErrorStream(true).start();
        try (BufferedReader lines = server.inputReader()) {
            String line = lines.readLine();
            while (line != null && !line.contains("listening")) {
                line = lines.readLine();
            }
            assertTrue(line != null, "the server has ended");
            for (String arguments : RUNS_ON_A_SERVER) {
                ToolRun run = ToolRun.of(arguments.replace(PROCESS, Long.toString(server.pid())).split(" "));
                // Replaces values that vary: the port, the time of day, and percentages, which are missing if nothing
                // was polled.
                GoldenOutput.check(arguments, run.exitCode(), run.out().replaceAll("\\.1:\\d+", ".1:0")
                        .replaceAll("\\d\\d:\\d\\d:\\d\\d", "0").replaceAll(" (?:-|\\d+%) ", " 0 "), run.err());
            }
        } finally {
            server.destroyForcibly().waitFor();
        }
    }

    private static List<String> allRuns() {
        return Stream.of(runs(), launcherRuns(), RUNS_ON_A_SERVER.stream()).flatMap(each -> each)
                .toList();
    }

    @Test
    void everyFileIsOfARun() {
        GoldenOutput.checkNoOther(allRuns());
    }

    @Test
    void everyCommandHasAPlainRunAndAWrongOne() {
        List<String> commands = Stream.concat(commands().filter(command -> !List.of("", "pktgen").contains(command)),
                launcherRuns().map(run -> run.split(" ")[0]).distinct()).toList();
        GoldenOutput.checkEachCommand(commands, allRuns(), WITHOUT_A_RUN);
    }

    /** Each command of the launcher, of any module, has a file with its help. */
    @Test
    void everyCommandOfTheLauncherIsInAFile() throws Exception {
        String launcher = Files.readString(Path.of("../rdma-raw"));
        Matcher label = Pattern.compile("(?m)^    ([a-z][a-z |-]*)\\)").matcher(
                launcher.substring(launcher.indexOf("\nmain() {")));
        Set<String> missing = new TreeSet<>();
        int found = 0;
        while (label.find()) {
            for (String command : label.group(1).split(" \\| ")) {
                found++;
                boolean kept = Stream.of("tools", "microbench", "examples", "testsuite").anyMatch(module ->
                        Files.exists(Path.of("..", module, "src/test/resources/golden", command + "-help.txt")));
                if (!kept && !command.equals("help")) {
                    missing.add(command);
                }
            }
        }
        assertEquals(Set.of(), missing);
        assertTrue(found > 20, found + " commands");
    }
}
