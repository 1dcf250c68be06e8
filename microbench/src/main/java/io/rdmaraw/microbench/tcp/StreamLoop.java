package io.rdmaraw.microbench.tcp;

import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.microbench.rival.TunedTransport;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** Creates the single event loop of a client or server. */
final class StreamLoop {
    /**
     * Size of the receive queue. An event loop with ten thousand connections may be preempted for some milliseconds
     * without losing a frame.
     */
    private static final int RECEIVE_QUEUE_FRAMES = 8192;
    private static final int SLOTS = 32_768;

    private StreamLoop() {
    }

    static EventLoopGroup open(TunedTransport transport, String device, String name) {
        return open(transport, device, name, RdmaRawIoHandlerConfig.defaults().spinNanos());
    }

    /** @param spinNanos time for which a loop of this transport polls before it sleeps */
    static EventLoopGroup open(TunedTransport transport, String device, String name, long spinNanos) {
        ThreadFactory threads = new DefaultThreadFactory(name);
        return transport.isRdmaRaw()
                ? new RdmaRawEventLoopGroup(1, threads, RdmaRawIoHandlerConfig.builder().device(device)
                        .receiveQueueDepth(RECEIVE_QUEUE_FRAMES).slotCount(SLOTS)
                        .spin(spinNanos, TimeUnit.NANOSECONDS).build())
                : transport.transport().newGroup(1, threads, device,
                        RdmaRawIoHandlerConfig.defaults().slotBytes(), transport.tuning());
    }
}
