package io.rdmaraw.channel.stream;

import io.netty.channel.EventLoop;
import io.rdmaraw.tcp.stack.StreamTransport;

import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Completes the close of a channel when the peer has acknowledged everything, or when the time of {@code SO_LINGER} is
 * over. As on Linux, the delivery then continues in the background. Unlike Netty's other transports, it blocks no
 * thread. Used on the channel's loop.
 */
public final class LingeringClose implements Executor {
    private static final long MAX_CHECK_MILLIS = 100;

    private final StreamTransport transport;
    private final EventLoop loop;
    private final long endNanos;
    /** Doubles with each check, so that many unreachable peers do not keep the loop busy. */
    private long checkMillis = 1;

    public LingeringClose(StreamTransport transport, EventLoop loop, int lingerSeconds) {
        this.transport = transport;
        this.loop = loop;
        endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(lingerSeconds);
    }

    /**
     * @param completion completes the close
     */
    @Override
    public void execute(Runnable completion) {
        if (transport.isDelivered() || loop.isShuttingDown() || System.nanoTime() - endNanos >= 0) {
            completion.run();
            return;
        }
        try {
            long delayMillis = checkMillis;
            checkMillis = Math.min(MAX_CHECK_MILLIS, 2 * checkMillis);
            loop.schedule(() -> execute(completion), delayMillis, TimeUnit.MILLISECONDS).addListener(check -> {
                // A loop that ends cancels its timers.
                if (check.isCancelled()) {
                    completion.run();
                }
            });
        } catch (RejectedExecutionException e) {
            completion.run();
        }
    }
}
