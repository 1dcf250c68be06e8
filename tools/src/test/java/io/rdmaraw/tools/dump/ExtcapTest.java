package io.rdmaraw.tools.dump;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The calls by which Wireshark uses {@code scripts/wireshark-extcap}. */
@Timeout(60)
class ExtcapTest {
    private static final Path SCRIPT = Path.of("../scripts/wireshark-extcap").toAbsolutePath().normalize();

    @TempDir
    private Path directory;

    private Path scriptWithLauncher() throws IOException {
        return scriptWithLauncher(directory);
    }

    /** Copies the script beside a launcher that prints its arguments. */
    private static Path scriptWithLauncher(Path root) throws IOException {
        Path scripts = Files.createDirectories(root.resolve("scripts"));
        Path launcher = root.resolve("rdma-raw");
        Files.writeString(launcher, "#!/bin/sh\nprintf '<%s>' \"$@\"\necho \"$NOTES\" >&2\n"
                + "[ \"$RDMA_RAW_NO_INSTALL\" = 1 ] || echo rdma-raw: installs packages >&2\n");
        assertTrue(launcher.toFile().setExecutable(true));
        Files.createFile(Files.createDirectories(root.resolve("target")).resolve("rdma-raw.built"));
        Files.copy(SCRIPT.resolveSibling("build.sh"), scripts.resolve("build.sh"));
        return Files.copy(SCRIPT, scripts.resolve("wireshark-extcap"),
                StandardCopyOption.COPY_ATTRIBUTES);
    }

    private static String run(int exitCode, Path script, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(script.toString()));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(exitCode, process.waitFor(), output);
        return output;
    }

    @Test
    void interfaceAndLinkTypeAreListed() throws Exception {
        assertTrue(run(0, SCRIPT, "--extcap-interfaces", "--extcap-version=4.0")
                .contains("interface {value=rdma-raw}{display="));
        assertTrue(run(0, SCRIPT, "--extcap-dlts", "--extcap-interface", "rdma-raw").contains("dlt {number=1}"));
        assertTrue(run(0, SCRIPT, "--extcap-config", "--extcap-interface", "rdma-raw").contains("{call=--pid}"));
        assertEquals("", run(0, SCRIPT, "--extcap-interface", "rdma-raw", "--extcap-capture-filter", "tcp"));
        assertTrue(run(2, SCRIPT).contains("is for Wireshark"));
    }

    @Test
    void captureRunsDump() throws Exception {
        Path script = scriptWithLauncher();
        assertEquals("<dump><-w></tmp/a fifo>",
                run(0, script, "--capture", "--extcap-interface", "rdma-raw", "--fifo", "/tmp/a fifo"));
        assertEquals("<dump><-w><f><--pid><12><--><tcp port 80>", run(0, script, "--capture",
                "--extcap-interface=rdma-raw", "--fifo=f", "--pid", "12", "--extcap-capture-filter=tcp port 80"));
        assertEquals("<dump><-w><f><--><-x>", run(0, script, "--capture", "--fifo=f", "--extcap-capture-filter=-x"));
        assertTrue(run(2, script, "--capture").contains("needs --fifo"));
        assertTrue(run(2, script, "--capture", "--fifo").contains("--fifo needs a value"));
        // Wireshark shows the standard error as a failure.
        ProcessBuilder builder = new ProcessBuilder(script.toString(), "--capture", "--fifo=f");
        builder.environment().put("NOTES", "9 frames captured\nrdma-raw: cannot write f: Broken pipe\nrdma-raw: fault");
        Process process = builder.redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        assertEquals("rdma-raw: fault\n",
                new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8));
    }

    /** A build would take minutes, and Wireshark would show its progress as an error. */
    @Test
    void captureDoesNotBuild() throws Exception {
        Path script = scriptWithLauncher();
        Files.delete(directory.resolve("target/rdma-raw.built"));
        assertEquals("netty-transport-rdma-raw is not built: run " + directory + "/rdma-raw build\n",
                run(1, script, "--capture", "--fifo=f"));
    }

    @Test
    void linkToTheHelpIsAUri() throws Exception {
        Path script = scriptWithLauncher(directory.resolve("a {b} 100%"));
        String output = run(0, script, "--extcap-interfaces");
        assertTrue(output.contains("{help=file://" + directory.toRealPath()
                + "/a%20%7Bb%7D%20100%25/docs/guide/what-changes.md}\n"), output);
    }

    @Test
    void pidIsANumberOfOneDigitOrMore() throws Exception {
        assertTrue(run(0, SCRIPT, "--extcap-config").contains("{validation=^[0-9]+$}"));
    }

    @Test
    void tsharkListsTheInterface() throws Exception {
        // The folder of Wireshark 4.0, and that of later versions.
        for (String folder : List.of(".config/wireshark/extcap", ".local/lib/wireshark/extcap")) {
            Path extcap = Files.createDirectories(directory.resolve(folder));
            Files.createSymbolicLink(extcap.resolve("rdma-raw"), SCRIPT);
        }
        ProcessBuilder builder = new ProcessBuilder("tshark", "-D").redirectErrorStream(true);
        builder.environment().put("HOME", directory.toString());
        Process process;
        try {
            process = builder.start();
        } catch (IOException e) {
            assumeTrue(false, "needs tshark: apt-get install tshark");
            return;
        }
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(output.contains(" rdma-raw (frames of a process"), output);
    }
}
