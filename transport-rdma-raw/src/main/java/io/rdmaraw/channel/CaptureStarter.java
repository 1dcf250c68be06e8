package io.rdmaraw.channel;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import io.rdmaraw.loop.LoopTasks;

import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;

/**
 * Starts a capture of a channel's connection on the channel's loop. The channel may move to another loop before that.
 */
final class CaptureStarter {
    private final RdmaRawSocketChannel channel;
    private final Path file;
    private final long maxBytes;
    private final Promise<Void> started;

    CaptureStarter(RdmaRawSocketChannel channel, Path file, long maxBytes) {
        ConnectionCapture.checkMaxBytes(maxBytes);
        this.channel = channel;
        this.file = file;
        this.maxBytes = maxBytes;
        started = channel.eventLoop().newPromise();
    }

    /** Starts the capture. Can be called on any thread. */
    Future<Void> begin() {
        EventLoop loop = channel.eventLoop();
        if (!loop.inEventLoop()) {
            // The channel may leave that loop before the task runs, so begin() checks the loop again.
            LoopTasks.executeOrElse(loop, this::begin, () -> started.tryFailure(new ClosedChannelException()));
            return started;
        }
        try {
            channel.setCapture(ConnectionCapture.begin(channel, file, maxBytes));
            started.trySuccess(null);
        } catch (Throwable e) {
            // Includes OutOfMemoryError: the capture allocates a large buffer.
            started.tryFailure(e);
        }
        return started;
    }
}
