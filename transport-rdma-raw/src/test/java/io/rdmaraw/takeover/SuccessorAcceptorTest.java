package io.rdmaraw.takeover;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * The socket for the next process cannot be created, for instance because its directory is missing or its file system
 * is full.
 */
@Timeout(60)
class SuccessorAcceptorTest {
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final TakeoverListener NOTHING = new TakeoverListener() {
        @Override
        public void handedOver(long successorPid) {
            // Not called here.
        }

        @Override
        public void resumed() {
            // Not called here.
        }
    };

    @TempDir
    private Path directory;

    @Test
    void firstProcessDoesNotStartWithoutSocket() throws IOException {
        try (Takeover takeover = Takeover.open(directory.resolve("missing").resolve("socket"))) {
            assertFalse(takeover.hasPredecessor());
            assertThrows(IOException.class, () -> takeover.begin(NOTHING));
        }
    }

    /** If the process ended, the connections of its clients would be reset. */
    @Test
    void successorWithoutSocketContinuesAndRetries() throws IOException {
        Path socket = directory.resolve("missing").resolve("socket");
        try (Takeover takeover = Takeover.open(socket)) {
            SuccessorAcceptor acceptor = new SuccessorAcceptor(takeover, socket, NOTHING, true);
            try {
                Files.createDirectory(socket.getParent());
                try (TakeoverConnection next = connect(socket)) {
                    next.send(new TakeoverMessage.Hello());
                    // The process has no port to hand over.
                    assertInstanceOf(TakeoverMessage.Refusal.class, next.receive(PATIENCE_NANOS));
                }
            } finally {
                acceptor.close();
            }
            assertFalse(Files.exists(socket));
        }
    }

    /**
     * The successor would take a closed connection for the end of this process, and later acceptor would find no
     * socket.
     */
    @Test
    void internalErrorRefusesOneTakeoverOnly() throws IOException {
        Path socket = directory.resolve("socket");
        try (Takeover takeover = Takeover.open(socket)) {
            takeover.begin(NOTHING);
            // A null port causes an unexpected failure in this process.
            takeover.add(null, false);
            for (int i = 0; i < 2; i++) {
                try (TakeoverConnection next = connect(socket)) {
                    next.send(new TakeoverMessage.Hello());
                    assertInstanceOf(TakeoverMessage.Refusal.class, next.receive(PATIENCE_NANOS));
                }
            }
        }
        assertFalse(Files.exists(socket));
    }

    private static TakeoverConnection connect(Path socket) throws IOException {
        TakeoverConnection connection = TakeoverConnection.connect(socket);
        while (connection == null) {
            Thread.onSpinWait();
            connection = TakeoverConnection.connect(socket);
        }
        return connection;
    }
}
