package io.rdmaraw.microbench.tcp;

import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.examples.server.Transport;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** The only event loop of an end. */
final class StreamLoop {
    /**
     * Enough slots that an event loop that is preempted for some milliseconds loses no frame of ten thousand
     * connections.
     */
    private static final int RECEIVE_QUEUE_FRAMES = 8192;
    private static final int SLOTS = 32_768;

    private StreamLoop() {
    }

    static EventLoopGroup open(Transport transport, String device, String name) {
        return open(transport, device, name, RdmaRawIoHandlerConfig.defaults().spinNanos());
    }

    /** @param spinNanos how long a loop of ours polls before it sleeps */
    static EventLoopGroup open(Transport transport, String device, String name, long spinNanos) {
        ThreadFactory threads = new DefaultThreadFactory(name);
        return transport == Transport.RDMA_RAW
                ? new RdmaRawEventLoopGroup(1, threads, RdmaRawIoHandlerConfig.builder().ipDevice(device)
                        .receiveQueueDepth(RECEIVE_QUEUE_FRAMES).slotCount(SLOTS)
                        .spin(spinNanos, TimeUnit.NANOSECONDS).build())
                : transport.newGroup(1, threads, device, RdmaRawIoHandlerConfig.defaults().slotBytes());
    }
}
