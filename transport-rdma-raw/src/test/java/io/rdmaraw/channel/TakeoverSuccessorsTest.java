package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rdmaraw.net.takeover.TakeoverConnection;
import io.rdmaraw.net.takeover.TakeoverMessage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** A socket for the next process cannot always be made: its directory may be gone, or its file system full. */
@Timeout(60)
class TakeoverSuccessorsTest {
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final RdmaRawTakeover.Listener NOTHING = new RdmaRawTakeover.Listener() {
        @Override
        public void handedOver(long successorPid) {
            // None takes anything over.
        }

        @Override
        public void resumed() {
            // Nothing was handed over.
        }
    };

    @TempDir
    private Path directory;

    @Test
    void theFirstProcessDoesNotBegin() throws IOException {
        try (RdmaRawTakeover takeover = RdmaRawTakeover.open(directory.resolve("missing").resolve("socket"))) {
            assertFalse(takeover.hasPredecessor());
            assertThrows(IOException.class, () -> takeover.begin(NOTHING));
        }
    }

    /** Its clients would be reset if it ended. */
    @Test
    void aProcessThatHasTakenOverGoesOnAndTriesAgain() throws IOException {
        Path socket = directory.resolve("missing").resolve("socket");
        try (RdmaRawTakeover takeover = RdmaRawTakeover.open(socket)) {
            TakeoverSuccessors successors = new TakeoverSuccessors(takeover, socket, NOTHING, true);
            try {
                Files.createDirectory(socket.getParent());
                try (TakeoverConnection next = connect(socket)) {
                    next.send(new TakeoverMessage.Hello());
                    // It has no port to offer.
                    assertInstanceOf(TakeoverMessage.Refusal.class, next.receive(PATIENCE_NANOS));
                }
            } finally {
                successors.close();
            }
            assertFalse(Files.exists(socket));
        }
    }

    /** It would take the end of the connection for the end of this process, and its successors would find none. */
    @Test
    void aFaultOfThisProcessIsToldAndCostsNoMoreThanTheOneTakeover() throws IOException {
        Path socket = directory.resolve("socket");
        try (RdmaRawTakeover takeover = RdmaRawTakeover.open(socket)) {
            takeover.begin(NOTHING);
            // There is no such port, which nobody expects.
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
