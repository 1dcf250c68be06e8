package io.rdmaraw.takeover;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

@Timeout(60)
class TakeoverSocketTest {
    /** The system call changes only the calling thread; the function of the C library changes all threads. */
    private static final int SETRESUID = 117;
    private static final int OTHER_USER = 65534;
    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final int FRAME_BYTES = 60;

    @TempDir
    private Path directory;
    private Path path;

    @BeforeEach
    void name() {
        path = directory.resolve("takeover.sock");
    }

    @AfterEach
    void nothingIsLeftBehind() throws IOException {
        try (Stream<Path> left = Files.list(directory)) {
            assertTrue(left.allMatch(path::equals), "temporary names are gone");
        }
    }

    private TakeoverConnection accept(TakeoverSocket socket) throws IOException {
        TakeoverConnection accepted = socket.accept(LIMIT_NANOS);
        assertNotNull(accepted, "a connection");
        return accepted;
    }

    @Test
    void messagesAndDescriptorsArrive() throws IOException {
        try (TakeoverSocket socket = TakeoverSocket.open(path);
                TakeoverConnection successor = TakeoverConnection.connect(path);
                TakeoverConnection predecessor = accept(socket);
                NativeSocket handed = NativeSocket.open(NativeSocket.AF_INET, NativeSocket.SOCK_STREAM, 0)) {
            assertEquals(ProcessHandle.current().pid(), predecessor.peerPid());
            successor.send(new TakeoverMessage.Hello());
            assertInstanceOf(TakeoverMessage.Hello.class, predecessor.receive(LIMIT_NANOS));
            assertEquals(List.of(), predecessor.pollDescriptors());
            predecessor.send(new TakeoverMessage.Take(List.of()), List.of(handed.fd(), handed.fd(), handed.fd()));
            successor.receive(LIMIT_NANOS);
            List<Integer> taken = successor.pollDescriptors();
            assertEquals(3, taken.size());
            for (int fd : taken) {
                assertEquals(Files.readSymbolicLink(Path.of("/proc/self/fd", Integer.toString(handed.fd()))),
                        Files.readSymbolicLink(Path.of("/proc/self/fd", Integer.toString(fd))), "the same socket");
                Libc.close(fd);
            }
        }
    }

    @Test
    void onlyTheSameUserCanConnect() throws IOException {
        try (TakeoverSocket socket = TakeoverSocket.open(path)) {
            assertNotNull(socket);
            assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(path)));
        }
        assertFalse(Files.exists(path), "the file goes with its socket");
    }

    /** Connects as another user. A thread with its own credentials suffices for that. */
    private static String refusedAsAnotherUser(Path path) throws Exception {
        CompletableFuture<String> refusal = new CompletableFuture<>();
        Thread.ofPlatform().start(() -> {
            int result = NativeCall.intValue(Libc.address("syscall"), SETRESUID, -1, OTHER_USER, -1);
            try (TakeoverConnection connected = TakeoverConnection.connect(path)) {
                refusal.complete(result + " connected to " + connected);
            } catch (IOException e) {
                refusal.complete(e.getMessage());
            }
        }).join();
        return refusal.get();
    }

    @Test
    void otherUserIsRejected() throws Exception {
        assumeTrue(Libc.effectiveUid() == 0, "changes its user, as only root may");
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        try (TakeoverSocket socket = TakeoverSocket.open(path)) {
            String refusal = refusedAsAnotherUser(path);
            assertTrue(refusal.contains("belongs to another user"), refusal);
            // Even if the mode is changed manually, the kernel reports the peer's user to both processes.
            Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-rw-rw-"));
            String told = refusedAsAnotherUser(path);
            assertTrue(told.contains("is of user 0, this one of user " + OTHER_USER), told);
            IOException e = assertThrows(IOException.class, () -> socket.accept(LIMIT_NANOS));
            assertTrue(e.getMessage().contains("is of user " + OTHER_USER + ", this one of user 0"), e.getMessage());
        }
    }

    @Test
    void terminationAndSilenceOfThePeerAreReported() throws IOException {
        try (TakeoverSocket socket = TakeoverSocket.open(path);
                TakeoverConnection successor = TakeoverConnection.connect(path)) {
            try (TakeoverConnection predecessor = accept(socket)) {
                assertNotNull(predecessor);
                assertThrows(SocketTimeoutException.class, () -> successor.receive(0));
            }
            assertTrue(successor.awaitReadable(LIMIT_NANOS));
            assertThrows(EOFException.class, () -> successor.receive(LIMIT_NANOS));
            assertThrows(EOFException.class, () -> successor.send(new TakeoverMessage.Hello()));
        }
    }

    @Test
    void staleSocketIsReplaced() throws IOException {
        TakeoverSocket killed = TakeoverSocket.open(path);
        killed.closeKeepingFile();
        assertTrue(Files.exists(path), "as a process that was killed leaves it");
        assertNull(TakeoverConnection.connect(path));
        try (TakeoverSocket socket = TakeoverSocket.open(path);
                TakeoverConnection successor = TakeoverConnection.connect(path);
                TakeoverConnection predecessor = accept(socket)) {
            assertNotNull(successor);
            assertNotNull(predecessor);
        }
    }

    @Test
    void nextListenerReplacesTheSocketAndKeepsIt() throws IOException {
        TakeoverSocket before = TakeoverSocket.open(path);
        try (TakeoverSocket socket = TakeoverSocket.open(path)) {
            before.close();
            assertTrue(Files.exists(path), "the file is the next one's");
            try (TakeoverConnection successor = TakeoverConnection.connect(path);
                    TakeoverConnection predecessor = accept(socket)) {
                assertNotNull(successor);
                assertNotNull(predecessor);
            }
        }
    }

    @Test
    void regularFileIsNotReplaced() throws IOException {
        Files.writeString(path, "something");
        IOException e = assertThrows(IOException.class, () -> TakeoverSocket.open(path));
        assertTrue(e.getMessage().contains("no socket"), e.getMessage());
        assertEquals("something", Files.readString(path));
    }

    /** A pipe stands for all files that are not regular, for example /dev/null. */
    @Test
    void pipeIsNotReplaced() throws Exception {
        assertEquals(0, new ProcessBuilder("mkfifo", path.toString()).start().waitFor());
        IOException e = assertThrows(IOException.class, () -> TakeoverSocket.open(path));
        assertTrue(e.getMessage().contains("no socket"), e.getMessage());
    }

    private interface Step {
        void run() throws IOException;
    }

    private static CompletableFuture<Void> beside(Step step) {
        return CompletableFuture.runAsync(() -> {
            try {
                step.run();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    /** A flood of SYNs fills the socket at once. */
    @Test
    void messagesWaitForRoomTakenByFrames() throws Exception {
        try (TakeoverSocket socket = TakeoverSocket.open(path);
                TakeoverConnection successor = TakeoverConnection.connect(path);
                TakeoverConnection predecessor = accept(socket)) {
            TakeoverMessage frame = new TakeoverMessage.Frame(0, new byte[FRAME_BYTES]);
            int frames = 0;
            while (predecessor.trySend(frame)) {
                frames++;
            }
            CompletableFuture<Void> said = beside(() -> predecessor.send(new TakeoverMessage.Done()));
            for (int i = 0; i < frames; i++) {
                assertInstanceOf(TakeoverMessage.Frame.class, successor.receive(LIMIT_NANOS));
            }
            said.get();
            assertInstanceOf(TakeoverMessage.Done.class, successor.receive(LIMIT_NANOS));
        }
    }

    @Test
    void closedConnectionDoesNotSend() throws IOException {
        try (TakeoverSocket socket = TakeoverSocket.open(path);
                TakeoverConnection successor = TakeoverConnection.connect(path)) {
            TakeoverConnection predecessor = accept(socket);
            predecessor.close();
            try (NativeSocket next = NativeSocket.open(NativeSocket.AF_INET, NativeSocket.SOCK_DGRAM, 0)) {
                assertNotNull(next);
                assertFalse(predecessor.trySend(new TakeoverMessage.Hello()));
                assertThrows(EOFException.class, () -> predecessor.send(new TakeoverMessage.Hello()));
            }
            assertNotNull(successor);
        }
    }

    /** Another program or a later version could send such messages. */
    @Test
    void invalidMessageIsNotTakenForTermination() throws IOException {
        NativeSocket other = NativeSocket.open(NativeSocket.AF_UNIX, NativeSocket.SOCK_SEQPACKET, 0);
        try (TakeoverSocket socket = TakeoverSocket.open(path)) {
            assertEquals(0, UnixSockets.connect(other, path));
            try (TakeoverConnection predecessor = accept(socket)) {
                long bytes = Libc.allocateZeroed(Long.BYTES);
                assertEquals(Long.BYTES, other.send(bytes, Long.BYTES, 0, 0));
                Libc.free(bytes);
                assertTrue(predecessor.awaitReadable(LIMIT_NANOS));
                assertFalse(predecessor.pollEnd(), "no message of a takeover");
                assertFalse(predecessor.pollEnd(), "nothing more");
                other.close();
                assertTrue(predecessor.awaitReadable(LIMIT_NANOS));
                assertTrue(predecessor.pollEnd());
            }
        }
    }

    @Test
    void isServedDetectsARunningProcessAfterItsConnectionEnded() throws Exception {
        try (TakeoverSocket socket = TakeoverSocket.open(path)) {
            CompletableFuture<Void> answered = beside(() -> {
                try (TakeoverConnection asked = accept(socket)) {
                    asked.receive(LIMIT_NANOS);
                    asked.send(new TakeoverMessage.Refusal("it serves"));
                }
            });
            assertTrue(TakeoverConnection.isServed(path, LIMIT_NANOS), "it answers");
            answered.get();
            CompletableFuture<Void> ended = beside(() -> accept(socket).close());
            assertFalse(TakeoverConnection.isServed(path, LIMIT_NANOS), "it is just ending");
            ended.get();
            socket.closeKeepingFile();
            assertFalse(TakeoverConnection.isServed(path, LIMIT_NANOS), "it has been killed");
        }
    }

    @Test
    void connectReturnsNullWithoutFile() throws IOException {
        assertNull(TakeoverConnection.connect(path));
    }
}
