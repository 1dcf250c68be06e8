package io.rdmaraw.tools.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
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

/** How {@code ./rdma-raw test --frameworks} evaluates test reports, and how several runs update its page. */
class FrameworksPageTest {
    private static final Path SCRIPTS = Path.of("..", "ci", "lab", "framework-suites").toAbsolutePath().normalize();
    private static final String LEAK = """
            LEAK: ByteBuf.release() was not called
            Recent access records:
            #1:
            \tHint: '%s' will handle the message from this point.
            """;

    @TempDir
    private Path directory;

    /** The exit code and output of a command. */
    private record Ended(int exitCode, String output) {
    }

    @BeforeEach
    void wantsPython() throws Exception {
        try {
            assumeTrue(run("python3", "--version").exitCode == 0, "needs python3: apt-get install python3");
        } catch (IOException e) {
            assumeTrue(false, "needs python3: apt-get install python3");
        }
    }

    @Test
    void failureOnThisTransportAloneNeedsAReason() throws Exception {
        report("ours", "net.ATest", "one", "two!", "three!", "four?");
        report("kernel", "net.ATest", "one", "two", "three!", "four");
        assertEquals(1, compare("ATest.one: because").exitCode);
        assertEquals(0, compare("ATest.two: because").exitCode);
        assertEquals(List.of("## suite", "a 1.", "| net.ATest | 2 of 4 | 1 | 1 | 1 | 0 (0) | new |",
                "* `net.ATest.two` fails on this transport alone: because"), page("suite", "a 1.", "new"));
    }

    @Test
    void aClassThatDidNotEndFails() throws Exception {
        report("ours", "net.ATest", "one");
        report("kernel", "net.ATest", "one");
        report("kernel", "net.BTest", "one");
        assertEquals(1, compare("").exitCode);
        assertEquals(List.of("## suite", "a 1.", "| net.ATest | 1 of 1 | 0 | 0 | 0 | 0 (0) | new |",
                "| net.BTest | none | 0 | 0 | all | - | new |", "* `net.BTest` **did not end on this transport**"),
                page("suite", "a 1.", "new"));
    }

    @Test
    void testSkippedHereAloneOrNotRunThereIsNoSuccess() throws Exception {
        report("ours", "net.ATest", "one", "two~");
        report("kernel", "net.ATest", "one", "two");
        assertEquals(1, compare("").exitCode, "skipped here alone");
        report("ours", "net.ATest", "one", "two!");
        report("kernel", "net.ATest", "one", "two~");
        assertEquals(1, compare("").exitCode, "it has not failed there");
        report("kernel", "net.ATest", "one");
        assertEquals(1, compare("").exitCode, "it is not there at all");
        report("ours", "net.ATest", "one", "two~");
        report("kernel", "net.ATest", "one", "two~");
        assertEquals(0, compare("").exitCode, "skipped on both");
    }

    @Test
    void leaksOfThisTransportAloneFail() throws Exception {
        report("ours", "net.ATest", "one");
        report("kernel", "net.ATest", "one");
        Files.writeString(directory.resolve("ours/io.some.net.ATest-output.txt"), LEAK.formatted("handler"));
        assertEquals(1, compare("").exitCode);
        assertEquals(0, compare("LEAK.handler: its own").exitCode);
        Files.writeString(directory.resolve("kernel/io.some.net.ATest-output.txt"), LEAK.formatted("other"));
        Files.writeString(directory.resolve("ours/io.some.net.ATest-output.txt"), LEAK.formatted("other"));
        assertEquals(0, compare("").exitCode, "as on the kernel's");
    }

    @Test
    void aRunReplacesItsRowsAndKeepsTheOthers() throws Exception {
        report("ours", "net.ATest", "one!");
        report("ours", "net.BTest", "one!");
        report("kernel", "net.ATest", "one");
        report("kernel", "net.BTest", "one");
        compare("ATest.one: because\nBTest.one: as well");
        List<String> old = page("suite", "a 1.", "old");
        assertEquals(old, page(), "a run of nothing changes nothing");
        Files.delete(directory.resolve("ours/TEST-io.some.net.BTest.xml"));
        Files.delete(directory.resolve("kernel/TEST-io.some.net.BTest.xml"));
        report("ours", "net.ATest", "one");
        compare("");
        assertEquals(List.of("## suite", "a 1.", "| net.ATest | 1 of 1 | 0 | 0 | 0 | 0 (0) | new |",
                "| net.BTest | 0 of 1 | 0 | 0 | 1 | 0 (0) | old |",
                "* `net.BTest.one` fails on this transport alone: as well"), page("suite", "a 1.", "new"));
        assertEquals(List.of("## suite", "a 2.", "| net.ATest | 1 of 1 | 0 | 0 | 0 | 0 (0) | newest |"),
                page("suite", "a 2.", "newest"), "rows of another version of the framework go");
        assertEquals(List.of("## another", "## suite"), page("another", "b 1.", "newest").stream()
                .filter(line -> line.startsWith("##")).toList());
    }

    /** Writes a Surefire report. A test with suffix ! failed, ? passed only when repeated, ~ was skipped. */
    private void report(String side, String className, String... tests) throws IOException {
        StringBuilder xml = new StringBuilder("<testsuite>");
        for (String test : tests) {
            String name = test.replaceAll("[!?~]", "");
            xml.append("<testcase classname='io.some.%s' name='%s'>%s</testcase>".formatted(className, name,
                    test.endsWith("!") ? "<failure/>" : test.endsWith("?") ? "<flakyFailure/>"
                            : test.endsWith("~") ? "<skipped/>" : ""));
        }
        Path file = directory.resolve(side).resolve("TEST-io.some." + className + ".xml");
        Files.createDirectories(file.getParent());
        Files.writeString(file, xml.append("</testsuite>"));
    }

    private Ended compare(String reasons) throws Exception {
        Path file = Files.writeString(directory.resolve("reasons"), reasons);
        Ended ended = run("python3", SCRIPTS.resolve("compare.py").toString(), directory.resolve("ours").toString(),
                directory.resolve("kernel").toString(), file.toString());
        Files.writeString(directory.resolve("found"), ended.output);
        return ended;
    }

    /** Updates the page with the results of a suite, if one is named, and returns its lines. */
    private List<String> page(String... suiteVersionsMeasured) throws Exception {
        Path page = directory.resolve("page");
        List<String> command = new ArrayList<>(List.of("python3", SCRIPTS.resolve("page.py").toString(),
                page.toString()));
        if (suiteVersionsMeasured.length == 0) {
            command.add("never");
        } else {
            command.addAll(List.of(suiteVersionsMeasured[2], suiteVersionsMeasured[0], suiteVersionsMeasured[1],
                    directory.resolve("found").toString()));
        }
        Ended ended = run(command.toArray(String[]::new));
        assertEquals(0, ended.exitCode, ended.output);
        Files.writeString(page, ended.output);
        return Arrays.stream(ended.output.substring(ended.output.indexOf("\n## ")).split("\n"))
                .filter(line -> !line.isEmpty() && !line.startsWith("|---") && !line.startsWith("| class |")).toList();
    }

    private static Ended run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Ended(process.waitFor(), output);
    }
}
