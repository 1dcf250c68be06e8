package io.rdmaraw.tools.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The page of {@code ./rdma-raw test --kernels}, which is updated by several partial runs. */
class KernelsPageTest {
    private static final Path PROJECT = Path.of("..").toAbsolutePath().normalize();

    @TempDir
    private Path directory;

    @BeforeEach
    void wantsPython() {
        assumeTrue(succeeds("python3", "--version"), "needs python3: apt-get install python3");
    }

    @Test
    void aRunReplacesItsCellsAndKeepsTheOthers() throws Exception {
        measure("old", "7|veth|generic|FAILED|a pipe \\ here", "7|veth|native|works|", "6.12|igb|tap|refused|no tap");
        String page = measure("new", "7|veth|generic|works|", "6.1|veth|tap|refused|no tap");
        assertEquals(List.of("## Linux 6.1", "| | tap | measured at |", "| veth | refused [1] | new, 2026-01-02 |",
                "## Linux 6.12", "| | tap | measured at |", "| igb | refused [1] | old, 2026-01-02 |",
                "## Linux 7", "| | generic | native | measured at |",
                "| veth | works | works | old, 2026-01-02; new, 2026-01-02 |",
                "## What was said", "1. no tap", "0 of 4 steps failed."), linesOf(page));
        assertEquals(page, measure("new"), "a run of nothing changes nothing");
        assertTrue(measure("newest", "7|veth|native|works|", "7|veth|generic|works|")
                .contains("| veth | works | works | newest, 2026-01-02 |"), "none of its cells is of another commit");
    }

    @Test
    void messagesAreReadBackFromThePage() throws Exception {
        String sentence = "what does not fit a cell, since it is a whole sentence with its remedy: use the other mode";
        String page = measure("a", "7|tests|C|works|119 of 119 passed", "7|veth|generic|works|" + sentence,
                "7|veth|native|FAILED|a/b: c [2]", "7|veth|driver|works|one ! two");
        assertEquals(List.of("## Linux 7", "| | C | measured at |",
                "| tests | works: 119 of 119 passed | a, 2026-01-02 |",
                "| | driver | generic | native | measured at |",
                "| veth | works: one \\| two | works [1] | FAILED [2] | a, 2026-01-02 |",
                "## What was said", "1. " + sentence, "2. a/b: c [2]", "1 of 4 steps failed."), linesOf(page));
        assertEquals(page, measure("b"));
    }

    /** Updates the page with cells in the form KERNEL|ROW|COLUMN|VERDICT|TEXT, where ! stands for a pipe. */
    private String measure(String commit, String... cells) throws Exception {
        List<String> lines = new ArrayList<>();
        for (String cell : cells) {
            String[] field = cell.split("\\|", -1);
            String text = field[4].replace('!', '|');
            lines.add(String.join("\t", field[0], field[1], field[2], field[3], "1", text, "rel"));
        }
        Path table = Files.write(directory.resolve("table"), lines);
        Path page = directory.resolve("page");
        Process process = new ProcessBuilder("python3", PROJECT.resolve("ci/lab/kernels/page.py").toString(),
                table.toString(), page.toString(), commit, "2026-01-02", "QEMU").redirectErrorStream(true).start();
        String made = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), made);
        return Files.readString(Files.writeString(page, made));
    }

    private static List<String> linesOf(String page) {
        return Arrays.stream(page.substring(page.indexOf("\n## ")).split("\n"))
                .filter(line -> !line.isEmpty() && !line.startsWith("|---") && !line.startsWith("Release ")).toList();
    }

    private static boolean succeeds(String... command) {
        try {
            Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
            process.getInputStream().readAllBytes();
            return process.waitFor() == 0;
        } catch (IOException | InterruptedException e) {
            return false;
        }
    }
}
