package io.rdmaraw.microbench.pages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The commands in the code blocks of all pages can be copied and run, and print the output that the pages show.
 * {@link Handling#LIST} contains the commands that cannot run in this test, with the reasons.
 */
class PageCommandsTest {
    private static final long LIMIT_SECONDS = 150;
    /** Replaces the launcher. It runs the classes of this build without building anything. */
    private static final String LAUNCHER = """
            #!/bin/bash
            java="%s -XX:TieredStopAtLevel=1 -XX:+UseSerialGC --enable-native-access=ALL-UNNAMED -Drdmaraw.home=%s"
            case "$1" in
              bench | report | profile | man) main=io.rdmaraw.microbench.Main ;;
              example) main=io.rdmaraw.examples.Main && shift ;;
              sim) main=io.rdmaraw.testsuite.Main && shift ;;
              java) main= && shift ;;
              *) main=io.rdmaraw.tools.Main ;;
            esac
            exec $java -cp '%s' $main "$@"
            """;

    /**
     * The pages to test, because a test of all pages takes minutes. The value is {@code all} or a list of pages, as in
     * {@code -Drdmaraw.page=docs/reference/tools.md,README.md}.
     */
    private static final String WANTED = System.getProperty("rdmaraw.page", "");

    static Stream<String> pages() {
        String only = WANTED;
        return PageCommand.pages().stream().filter(page -> (only.isEmpty() || only.equals("all")
                || List.of(only.split(",")).contains(page))
                && PageCommand.of(page).stream().anyMatch(PageScript::isRun));
    }

    @Test
    void everyEntryOfTheListIsOfACommand() {
        List<PageCommand> commands = PageCommand.pages().stream()
                .flatMap(page -> PageCommand.of(page).stream()).toList();
        assertTrue(commands.size() > 50, commands.size() + " commands");
        assertEquals(List.of(), Handling.LIST.stream().filter(each -> commands.stream()
                .noneMatch(command -> PageScript.handling(command).orElse(null) == each)).toList());
    }

    @ParameterizedTest
    @MethodSource("pages")
    @Tag("root")
    @Timeout(LIMIT_SECONDS + 30)
    void theCommandsOfAPageWork(String page, @TempDir Path directory) throws Exception {
        assumeTrue(!WANTED.isEmpty(), "takes minutes: -Drdmaraw.page=all");
        assumeTrue("root".equals(System.getProperty("user.name")), "needs root");
        List<PageCommand> commands = PageCommand.of(page);
        for (String program : List.of("ip", "curl", "dig", "redis-cli", "wrk", "nstat", "unshare")) {
            assumeTrue(commands.stream().noneMatch(each -> each.text().contains(program))
                    || new ProcessBuilder("sh", "-c", "command -v " + program).start().waitFor() == 0,
                    "needs " + program);
        }
        write(directory);
        Path script = Files.writeString(directory.resolve("script"), PageScript.of(commands));
        Path out = directory.resolve("out");
        // All processes that a page starts end with the first process of their PID namespace.
        Process process = new ProcessBuilder("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child",
                "--mount-proc", "bash", script.toString()).directory(directory.toFile()).redirectErrorStream(true)
                .redirectOutput(out.toFile()).start();
        try {
            assertTrue(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS), "not done: " + outputs(directory));
            assertEquals(0, process.exitValue(), () -> page + ": " + outputs(directory));
        } finally {
            process.destroyForcibly().waitFor();
        }
        for (int i = 0; i < commands.size(); i++) {
            String expected = commands.get(i).outputOrNull();
            if (expected != null && PageScript.isRun(commands.get(i))) {
                assertEquals(expected, Files.readString(directory.resolve("out." + i)).strip(), commands.get(i).text());
            }
        }
    }

    private static void write(Path directory) throws IOException {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        Path launcher = Files.writeString(directory.resolve("rdma-raw"), LAUNCHER.formatted(java,
                Path.of("..").toAbsolutePath().normalize(), System.getProperty("java.class.path")));
        Files.setPosixFilePermissions(launcher, PosixFilePermissions.fromString("rwx------"));
        Files.writeString(directory.resolve("FrameEcho.java"),
                PageCommand.block("docs/reference/raw-frames.md", "java"));
        Files.copy(Path.of("../examples/quickstart/src/main/java/HelloServer.java"),
                directory.resolve("HelloServer.java"));
        // A capture file with one frame, in the format of tcpdump. The header consists of the magic number, version
        // 2.4, two zero words, the maximum frame length and the link type. The record consists of the timestamp, both
        // lengths, and the frame.
        try (DataOutputStream pcap = new DataOutputStream(Files.newOutputStream(directory.resolve("capture.pcap")))) {
            for (int word : new int[] {0xa1b2c3d4, 0x00020004, 0, 0, 65535, 1, 0, 0, 60, 60}) {
                pcap.writeInt(word);
            }
            pcap.write(new byte[60]);
        }
    }

    /** Returns the output of all commands. */
    private static String outputs(Path directory) {
        StringBuilder all = new StringBuilder();
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.filter(each -> each.getFileName().toString().startsWith("out")).sorted().toList()) {
                all.append("\n--- ").append(file.getFileName()).append('\n').append(Files.readString(file));
            }
        } catch (IOException e) {
            all.append(e);
        }
        return all.toString();
    }
}
