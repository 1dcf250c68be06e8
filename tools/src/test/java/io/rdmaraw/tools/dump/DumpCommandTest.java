package io.rdmaraw.tools.dump;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.ffi.NativeLibrary;
import io.rdmaraw.tools.ToolRun;
import io.rdmaraw.tools.run.JavaCommand;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Captures from a process that sends numbered flows. */
@Timeout(120)
class DumpCommandTest {
    private final List<Process> processes = new ArrayList<>();
    private String pid;

    @BeforeEach
    void startSender() throws IOException {
        Process sender = start("pktgen", "tx", "-d", "soft:loop:dumped", "--rate", "2000pps", "-T",
                "eth/ipv4/udp(src=1000..1009,dst=9)/payload(length=900)");
        pid = Long.toString(sender.pid());
        awaitLine(sender.inputReader(), "1 s");
    }

    @AfterEach
    void endAll() throws InterruptedException {
        for (Process process : processes) {
            process.destroyForcibly().waitFor();
        }
    }

    private Process start(String... arguments) throws IOException {
        List<String> command = new ArrayList<>(JavaCommand.of("io.rdmaraw.tools.Main"));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        processes.add(process);
        return process;
    }

    private static void awaitLine(BufferedReader lines, String text) throws IOException {
        StringBuilder output = new StringBuilder();
        String line = lines.readLine();
        while (line != null && !line.contains(text)) {
            output.append(line).append('\n');
            line = lines.readLine();
        }
        assertTrue(line != null, output.toString());
    }

    private static void requireLibpcap() {
        try {
            NativeLibrary.load("libpcap.so.0.8");
        } catch (UnsatisfiedLinkError e) {
            assumeTrue(false, "needs libpcap: apt-get install libpcap0.8");
        }
    }

    private ToolRun dump(String... arguments) {
        List<String> all = new ArrayList<>(List.of("dump", "--pid", pid));
        all.addAll(List.of(arguments));
        return ToolRun.of(all.toArray(String[]::new));
    }

    @Test
    void eachFrameIsALine() {
        ToolRun run = dump("-n", "-c", "30");
        assertEquals(0, run.exitCode(), run.err());
        assertEquals(30, run.out().lines().count(), run.out());
        int port = Integer.parseInt(run.out().replaceAll("(?s)^[^>]*\\.(\\d+) >.*", "$1"));
        for (String line : run.out().lines().toList()) {
            assertTrue(line.matches("\\d\\d:\\d\\d:\\d\\d\\.\\d{6} Out IP 198\\.18\\.0\\.1\\." + port
                    + " > 198\\.18\\.0\\.2\\.9: UDP, length 900"), line + " with port " + port);
            port = 1000 + (port + 1) % 10;
        }
        assertTrue(run.err().contains("30 frames captured\n"), run.err());
    }

    @Test
    void filterSelectsFrames() {
        requireLibpcap();
        ToolRun run = dump("-c", "5", "udp", "src", "port", "1003 or 1004");
        assertEquals(0, run.exitCode(), run.err());
        assertEquals(5, run.out().lines().filter(line -> line.contains(".1003 >") || line.contains(".1004 >"))
                .count(), run.out());
        ToolRun wrong = dump("src port or");
        assertEquals(1, wrong.exitCode());
        assertEquals("rdma-raw: filter 'src port or': can't parse filter expression: syntax error; see"
                + " pcap-filter(7)", wrong.err().strip());
        ToolRun loop = dump("ip6 protochain 6");
        assertEquals(1, loop.exitCode());
        assertTrue(loop.err().contains("protochain") && loop.err().lines().count() == 1, loop.err());
    }

    @Test
    void filesAreRotatedAndReadByTcpdump(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("ring");
        ToolRun run = dump("-w", file.toString(), "-C", "1", "-W", "2", "-c", "2500", "-s", "600");
        assertEquals(0, run.exitCode(), run.err());
        assertTrue(Files.size(directory.resolve("ring0")) < 1_002_000);
        List<String> lines = Programs.lines("tcpdump", "-n", "-r", directory.resolve("ring1").toString());
        assertTrue(lines.size() > 800 && lines.size() < 1700, lines.size() + " frames");
        assertTrue(lines.getFirst().contains("198.18.0.2.9: UDP, length 900"), lines.getFirst());
    }

    /** A killed dump must not prevent the next one. Its lease ends within seconds. */
    @Test
    void secondDumpIsRefusedUntilTheFirstOneHasEndedOrWasKilled() throws Exception {
        Process first = start("dump", "--pid", pid);
        awaitLine(first.inputReader(), " > ");
        ToolRun refused = dump("-c", "1");
        assertEquals(1, refused.exitCode());
        assertTrue(refused.err().startsWith("rdma-raw: process " + pid + ": another dump captures from this process"),
                refused.err());
        first.destroyForcibly().waitFor();
        ToolRun next = dump("-c", "1");
        while (next.exitCode() != 0) {
            assertTrue(next.err().contains("another dump"), next.err());
            next = dump("-c", "1");
        }
        assertEquals(1, next.out().lines().count());
    }

    @Test
    void dumpThatCannotWriteEndsItsCapture() {
        ToolRun run = dump("-w", "/dev/full");
        assertEquals(1, run.exitCode());
        assertTrue(run.err().contains("rdma-raw: cannot write /dev/full: "), run.err());
        ToolRun next = dump("-c", "1");
        assertEquals(0, next.exitCode(), next.err());
    }

    @Test
    void endOfTheProcessIsReported() throws Exception {
        Process dump = start("dump", "--pid", pid);
        awaitLine(dump.inputReader(), " > ");
        processes.getFirst().destroyForcibly().waitFor();
        awaitLine(dump.inputReader(), "process " + pid + " does not answer any more");
        assertEquals(1, dump.waitFor());
    }
}
