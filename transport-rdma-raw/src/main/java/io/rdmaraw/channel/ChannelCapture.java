package io.rdmaraw.channel;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import io.rdmaraw.loop.LoopTasks;

import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;

/** The captures of a channel's connection: they begin on the loop that the channel is on, and end when it leaves. */
final class ChannelCapture {
    private final RdmaRawSocketChannel channel;
    /** The last one; null when there was none. */
    private ConnectionCapture last;

    ChannelCapture(RdmaRawSocketChannel channel) {
        this.channel = channel;
    }

    /** Any thread. */
    Future<Void> begin(Path file, long maxBytes) {
        ConnectionCapture.checkBound(maxBytes);
        Promise<Void> begun = channel.eventLoop().newPromise();
        begin(file, maxBytes, begun);
        return begun;
    }

    private void begin(Path file, long maxBytes, Promise<Void> begun) {
        EventLoop loop = channel.eventLoop();
        if (!loop.inEventLoop()) {
            // The channel may have left that loop when it comes to this.
            LoopTasks.executeOrElse(loop, () -> begin(file, maxBytes, begun),
                    () -> begun.tryFailure(new ClosedChannelException()));
            return;
        }
        try {
            last = ConnectionCapture.begin(channel, file, maxBytes);
            begun.trySuccess(null);
        } catch (IOException | RuntimeException e) {
            begun.tryFailure(e);
        }
    }

    /** The channel leaves its loop; one that is closed is captured a little longer. */
    void leaveLoop() {
        if (last != null && channel.isOpen()) {
            last.end();
        }
    }
}
