package io.rdmaraw.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.ffi.Libc;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BrokerConnectionTest {
    private static final String LISTENER = """
            import os, socket, sys
            os.setuid(65534)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind(sys.argv[1])
            listener.listen()
            print("listens", flush=True)
            sys.stdin.read()
            """;

    /** Such a listener would receive the server's TCP sockets. */
    @Test
    void brokerOfAnotherUserIsRejected(@TempDir Path directory) throws Exception {
        assumeTrue(Libc.effectiveUid() == 0, "needs root, to start a process of another user");
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwxrwx"));
        String path = directory.resolve("broker.sock").toString();
        Process listener = new ProcessBuilder("python3", "-c", LISTENER, path)
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader output = new BufferedReader(
                new InputStreamReader(listener.getInputStream(), StandardCharsets.UTF_8))) {
            assertEquals("listens", output.readLine());
            IOException e = assertThrows(IOException.class, () -> BrokerConnection.connect(path).close());
            assertTrue(e.getMessage().startsWith("user 65534 listens at '" + path), e.getMessage());
        } finally {
            listener.destroyForcibly().waitFor();
        }
    }
}
