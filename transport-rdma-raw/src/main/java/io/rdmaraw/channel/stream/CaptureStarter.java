package io.rdmaraw.channel.stream;

import io.netty.channel.EventLoop;
import io.netty.channel.socket.SocketChannel;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import io.rdmaraw.channel.io.StreamInbox;
import io.rdmaraw.loop.LoopTasks;

import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;
import java.util.function.Consumer;

/**
 * Starts a capture of a channel's connection on the channel's loop. The channel may move to another loop before that.
 */
public final class CaptureStarter {
    private final SocketChannel channel;
    private final StreamInbox.Connection connection;
    private final Consumer<ConnectionCapture> onStarted;
    private final Path file;
    private final long maxBytes;
    private final Promise<Void> started;

    /**
     * Creates a capture that has not started.
     *
     * @param onStarted receives the capture when it has started; called on the channel's loop
     * @throws IllegalArgumentException if {@code maxBytes} is too small
     */
    public CaptureStarter(SocketChannel channel, StreamInbox.Connection connection, Path file, long maxBytes,
            Consumer<ConnectionCapture> onStarted) {
        ConnectionCapture.checkMaxBytes(maxBytes);
        this.channel = channel;
        this.connection = connection;
        this.onStarted = onStarted;
        this.file = file;
        this.maxBytes = maxBytes;
        started = channel.eventLoop().newPromise();
    }

    /** Starts the capture. Can be called on any thread. */
    public Future<Void> begin() {
        EventLoop loop = channel.eventLoop();
        if (!loop.inEventLoop()) {
            // The channel may leave that loop before the task runs, so begin() checks the loop again.
            LoopTasks.executeOrElse(loop, this::begin, () -> started.tryFailure(new ClosedChannelException()));
            return started;
        }
        try {
            onStarted.accept(ConnectionCapture.begin(channel, connection, file, maxBytes));
            started.trySuccess(null);
        } catch (Throwable e) {
            // Includes OutOfMemoryError: the capture allocates a large buffer.
            started.tryFailure(e);
        }
        return started;
    }
}
