package io.rdmaraw.tools.top;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JavaProcessTest {
    private static void process(Path proc, String pid, String namespace) throws IOException {
        Path directory = Files.createDirectories(proc.resolve(pid).resolve("ns"));
        Files.createSymbolicLink(directory.resolve("net"), Path.of(namespace));
    }

    @Test
    void aProcessOfAnotherNetworkNamespaceIsNotBlamedForItsUser(@TempDir Path proc) throws IOException {
        process(proc, "self", "net:[4026531840]");
        process(proc, "77", "net:[4026531840]");
        process(proc, "78", "net:[4026532001]");
        NetworkNamespaces namespaces = new NetworkNamespaces(proc);
        IOException refused = new IOException("Connection refused to host: 127.0.0.1");
        assertEquals("cannot attach to process 78, which is in another network namespace:"
                + " nsenter -t 78 -n ./rdma-raw dump --pid 78",
                JavaProcess.attachFailure("dump", "78", refused, namespaces));
        assertTrue(JavaProcess.attachFailure("dump", "77", refused, namespaces).contains("Connection refused"));
        Files.createDirectories(proc.resolve("79"));
        assertTrue(JavaProcess.attachFailure("dump", "79", refused, namespaces).contains("same user"));
        assertEquals("no such process: 80", JavaProcess.attachFailure("dump", "80", refused, namespaces));
    }

    /** Checks with real files in {@code /proc} that this process is found in its own namespace. */
    @Test
    void thisProcessIsWhereItIs() {
        assertFalse(new NetworkNamespaces(Path.of("/proc")).isElsewhere(Long.toString(ProcessHandle.current().pid())));
    }
}
