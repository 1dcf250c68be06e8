package io.rdmaraw.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.testsuite.golden.GoldenOutput;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the commands of this module say; see {@link GoldenOutput}. */
class GoldenOutputTest {
    private static final String DEVICE = "-d soft:loop:golden";

    /** Beside the help: runs that work, then runs that do not. */
    private static final List<String> RUNS = List.of(
            "demo " + DEVICE + " -D 0.3",
            "demo -D 0",
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
            "asyncwatch soft:nothing",
            "asyncwatch",
            "completion now",
            "nothing");

    /** What the launcher answers by itself: the help of its own commands, and what it refuses. */
    private static final List<String> LAUNCHER_RUNS = List.of(
            "build --help", "build now",
            "hardware-check --help", "hardware-check", "hardware-check --typo", "hardware-check mlx5_0 --peer",
            "hardware-check mlx5_0 mlx5_1",
            "install --help", "install here",
            "java --help", "java",
            "release --help", "release",
            "site --help", "site now",
            "test --help", "test --typo", "test fast", "test NoSuchTestOfOurs", "test --faults many");

    static Stream<String> runs() {
        return Stream.concat(commands().map(command -> (command + " --help").strip()), RUNS.stream());
    }

    /** Every command there is, with its subcommands: a new one comes in by itself. */
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
    void aCommandSaysWhatItSaid(String arguments) {
        ToolRun run = ToolRun.of(arguments.split(" "));
        GoldenOutput.check(arguments, run.exitCode(), run.out(), run.err());
    }

    static Stream<String> launcherRuns() {
        return LAUNCHER_RUNS.stream();
    }

    /** None of them builds anything, or looks for a JDK. */
    @ParameterizedTest
    @MethodSource("launcherRuns")
    void theLauncherSaysWhatItSaid(String arguments, @TempDir Path directory) throws Exception {
        List<String> command = new ArrayList<>(List.of("../rdma-raw"));
        command.addAll(List.of(arguments.split(" ")));
        Path out = directory.resolve("out");
        Path err = directory.resolve("err");
        ProcessBuilder builder = new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
        builder.environment().put("PATH", "/usr/bin:/bin");
        int exitCode = builder.start().waitFor();
        GoldenOutput.check(arguments, exitCode, Files.readString(out), Files.readString(err));
    }

    /** Also those that other programs run for the launcher, which picocli cannot know of. */
    @Test
    void completionKnowsTheCommandsOfTheLauncher() {
        ToolRun run = ToolRun.of("completion");
        assertEquals(0, run.exitCode(), run.err());
        for (String word : List.of("asyncwatch", "hardware-check", "report", "--echo-device", "_complete_rdma-raw")) {
            assertTrue(run.out().contains(word), word);
        }
    }

    @Test
    void everyFileIsOfARun() {
        GoldenOutput.checkNoOther(Stream.concat(runs(), launcherRuns()).toList());
    }
}
