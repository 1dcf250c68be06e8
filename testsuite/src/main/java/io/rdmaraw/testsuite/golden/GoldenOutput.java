package io.rdmaraw.testsuite.golden;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Compares the output of commands with files in src/test/resources/golden of a module: the help text, a successful run
 * with its figures masked, and a failed run. Review each change of a file before it is committed.
 * {@code -Drdmaraw.golden=write} rewrites the files.
 */
public final class GoldenOutput {
    private static final Path DIRECTORY = Path.of("src/test/resources/golden");
    private static final boolean WRITE = "write".equals(System.getProperty("rdmaraw.golden"));
    /** Parts of lines that depend on the machine that runs the test, not on the command. */
    private static final List<String> OF_THE_MACHINE = List.of("huge page", "nr_hugepages", "schedule was not held",
            "other programs use");

    private GoldenOutput() {
    }

    /**
     * Fails if the output of a command differs from its file.
     *
     * @param arguments arguments of {@code ./rdma-raw}
     */
    public static void check(String arguments, int exitCode, String out, String err) {
        // Only a help text contains no figures that depend on the machine or the run.
        String text = "$ ./rdma-raw " + arguments + '\n' + (arguments.endsWith("--help") ? out : masked(out))
                + masked(err).lines().map(line -> "2> " + line + '\n').collect(Collectors.joining())
                + "exit " + exitCode + '\n';
        Path file = DIRECTORY.resolve(fileName(arguments));
        try {
            if (WRITE) {
                Files.createDirectories(DIRECTORY);
                Files.writeString(file, text, StandardCharsets.UTF_8);
            }
            String kept = Files.exists(file) ? Files.readString(file) : "no file";
            if (!kept.equals(text)) {
                throw new AssertionError(file + " differs; -Drdmaraw.golden=write writes it anew. Kept:\n" + kept
                        + "\nNow:\n" + text);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Fails if there is a file without a run, which would look as if it were still checked. */
    public static void checkNoOther(Collection<String> runs) {
        try (Stream<Path> files = Files.list(DIRECTORY)) {
            List<String> expected = runs.stream().map(GoldenOutput::fileName).sorted().toList();
            List<String> found = files.map(file -> file.getFileName().toString()).sorted().toList();
            if (!found.equals(expected)) {
                throw new AssertionError(DIRECTORY + " has " + found + ", and the runs are " + expected);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Fails unless each command has a help run, a successful run and a failed run.
     *
     * @param commands command names as in {@code ./rdma-raw COMMAND}
     * @param others   reason for each missing run, by {@code "COMMAND, plain"} or {@code "COMMAND, wrong"}
     */
    public static void checkEachCommand(Collection<String> commands, Collection<String> runs,
            Map<String, String> others) {
        Set<String> missing = new TreeSet<>();
        Set<String> stale = new TreeSet<>(others.keySet());
        for (String command : commands) {
            Set<Boolean> ends = runs.stream().filter(run -> !run.endsWith("--help") && isOf(run, command, commands))
                    .map(GoldenOutput::endedWell).collect(Collectors.toSet());
            for (boolean well : new boolean[] {true, false}) {
                String wanted = command + (well ? ", plain" : ", wrong");
                if (!ends.contains(well) && !stale.remove(wanted)) {
                    missing.add(wanted);
                }
            }
            if (!runs.contains(command + " --help")) {
                missing.add(command + " --help");
            }
        }
        if (!missing.isEmpty() || !stale.isEmpty()) {
            throw new AssertionError("no run, and no reason: " + missing + "; a reason, and a run: " + stale);
        }
    }

    /** Returns whether a run is one of this command, and not of a command with a longer name. */
    private static boolean isOf(String run, String command, Collection<String> commands) {
        return begins(run, command) && commands.stream()
                .noneMatch(other -> other.length() > command.length() && begins(other, command) && begins(run, other));
    }

    private static boolean begins(String run, String command) {
        return (run + ' ').startsWith(command + ' ');
    }

    private static boolean endedWell(String run) {
        try {
            return Files.readString(DIRECTORY.resolve(fileName(run))).endsWith("\nexit 0\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String fileName(String arguments) {
        return arguments.replaceAll("[^A-Za-z0-9.]+", "-").replaceAll("^-", "") + ".txt";
    }

    /** Masks figures, the column widths that depend on them, and versions. */
    private static String masked(String text) {
        return text.lines().filter(line -> OF_THE_MACHINE.stream().noneMatch(line::contains))
                .map(line -> line.replaceAll("(?<![A-Za-z0-9_:.])-?[0-9][0-9,.]*(?:E-?[0-9]+)?(?![A-Za-z0-9_:])", "#")
                        .replaceAll("#\\\\?-SNAPSHOT", "#").replaceAll(" {2,}", "  ").stripTrailing() + '\n')
                .collect(Collectors.joining());
    }
}
