package io.rdmaraw.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What each command says, kept in src/test/resources/golden: its help, a plain run with its figures masked, and a wrong
 * run. A change there is read before it is committed; {@code -Drdmaraw.golden=write} writes the files anew.
 */
class GoldenOutputTest {
    private static final Path GOLDEN = Path.of("src/test/resources/golden");
    private static final boolean WRITE = "write".equals(System.getProperty("rdmaraw.golden"));
    private static final String DEVICE = "-d soft:loop:golden";

    /** Beside the help: runs that work, then runs that do not. */
    private static final List<String> RUNS = List.of(
            "demo " + DEVICE + " -s 0.3",
            "demo -s 0",
            "devinfo -d soft:loop --list",
            "devinfo -d mlx5_99",
            "doctor -d soft:loop",
            "doctor --devices soft:loop",
            "pktgen tx " + DEVICE + " -n 10",
            "pktgen tx -t eth/sctp",
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
    void aCommandSaysWhatItSaid(String arguments) throws IOException {
        ToolRun run = ToolRun.of(arguments.split(" "));
        boolean help = arguments.endsWith("--help");
        String text = "$ ./rdma-raw " + arguments + '\n' + (help ? run.out() : masked(run.out()))
                + masked(run.err()).lines().map(line -> "2> " + line + '\n').collect(Collectors.joining())
                + "exit " + run.exitCode() + '\n';
        Path file = GOLDEN.resolve(arguments.replaceAll("[^A-Za-z0-9.]+", "-").replaceAll("^-", "") + ".txt");
        if (WRITE) {
            Files.createDirectories(GOLDEN);
            Files.writeString(file, text, StandardCharsets.UTF_8);
        }
        assertTrue(Files.exists(file), "there is no " + file + "; -Drdmaraw.golden=write makes it:\n" + text);
        assertEquals(Files.readString(file), text, file + " differs; -Drdmaraw.golden=write writes it anew");
    }

    /** What a line says of the machine that runs the test, not of the command. */
    private static final List<String> OF_THE_MACHINE = List.of("huge page", "nr_hugepages", "schedule was not held");

    /** Figures differ from run to run, and with them the widths of columns. */
    private static String masked(String text) {
        return text.lines().filter(line -> OF_THE_MACHINE.stream().noneMatch(line::contains))
                .map(line -> line.replaceAll("(?<![A-Za-z0-9_:.])-?[0-9][0-9,.]*(?![A-Za-z0-9_:])", "#")
                        .replaceAll(" {2,}", "  ").stripTrailing() + '\n')
                .collect(Collectors.joining());
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

    /** A file whose run is gone would be read as if it still held. */
    @Test
    void everyFileIsOfARun() throws IOException {
        List<String> expected = new ArrayList<>(runs().map(arguments -> arguments.replaceAll("[^A-Za-z0-9.]+", "-")
                .replaceAll("^-", "") + ".txt").sorted().toList());
        try (Stream<Path> files = Files.list(GOLDEN)) {
            assertEquals(expected, files.map(file -> file.getFileName().toString()).sorted().toList());
        }
    }
}
