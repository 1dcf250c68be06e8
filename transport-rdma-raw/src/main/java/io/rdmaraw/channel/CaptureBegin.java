package io.rdmaraw.channel;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import io.rdmaraw.loop.LoopTasks;

import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;

/** Begins a capture of a channel's connection on the loop that the channel is on, wherever it goes meanwhile. */
final class CaptureBegin {
    private final RdmaRawSocketChannel channel;
    private final Path file;
    private final long maxBytes;
    private final Promise<Void> begun;

    CaptureBegin(RdmaRawSocketChannel channel, Path file, long maxBytes) {
        ConnectionCapture.checkBound(maxBytes);
        this.channel = channel;
        this.file = file;
        this.maxBytes = maxBytes;
        begun = channel.eventLoop().newPromise();
    }

    /** Any thread. */
    Future<Void> begin() {
        EventLoop loop = channel.eventLoop();
        if (!loop.inEventLoop()) {
            // The channel may have left that loop when it comes to this.
            LoopTasks.executeOrElse(loop, this::begin, () -> begun.tryFailure(new ClosedChannelException()));
            return begun;
        }
        try {
            channel.captured(ConnectionCapture.begin(channel, file, maxBytes));
            begun.trySuccess(null);
        } catch (Throwable e) {
            // Memory may be short too.
            begun.tryFailure(e);
        }
        return begun;
    }
}
