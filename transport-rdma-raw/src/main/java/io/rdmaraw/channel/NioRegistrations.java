package io.rdmaraw.channel;

import io.netty.channel.IoHandle;
import io.netty.channel.nio.NioIoHandle;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

import java.net.StandardSocketOptions;
import java.nio.channels.NetworkChannel;
import java.nio.channels.SelectableChannel;
import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

/** Looks at the NIO channels that come to a group's loops: whether the kernel carries what the device was meant for. */
final class NioRegistrations {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(NioRegistrations.class);
    private static final String REMEDY = "the kernel carries them, not the device. Give bootstraps "
            + "RdmaRawSocketChannel, RdmaRawServerSocketChannel and RdmaRawDatagramChannel; where a framework chooses "
            + "the classes, docs/frameworks.md says how";

    /** The sockets of this transport's own channels, which are NIO channels where the kernel carries a connection. */
    private static final Set<SelectableChannel> OWN =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    private final NioChannels policy;
    private final AtomicBoolean reported = new AtomicBoolean();

    NioRegistrations(NioChannels policy) {
        this.policy = policy;
    }

    /** A channel of this transport uses this socket. */
    static void own(SelectableChannel socket) {
        OWN.add(socket);
    }

    /** Tells what the loops answer to a framework that asks whether they drive NIO channels of any kind. */
    boolean admits(Class<? extends IoHandle> handleType) {
        return policy != NioChannels.REFUSED || handleType != NioIoHandle.class;
    }

    /**
     * A channel is about to be registered.
     *
     * @throws UnsupportedOperationException when it may not be
     */
    void arrived(IoHandle handle, LoopStatistics statistics) {
        if (!(handle instanceof NioIoHandle nio) || !isOfIp(nio.selectableChannel())
                || OWN.contains(nio.selectableChannel())) {
            return;
        }
        if (policy == NioChannels.REFUSED) {
            statistics.nioChannelsRefused++;
            throw new UnsupportedOperationException("NIO channels of TCP and UDP are refused on these loops ("
                    + NioChannels.PROPERTY + "): " + REMEDY);
        }
        statistics.nioChannels++;
        if (policy == NioChannels.REPORTED && reported.compareAndSet(false, true)) {
            LOGGER.warn("NIO channels of TCP or UDP are on loops of this transport, first {}: {}; if it is meant so, "
                    + "nioChannels(ALLOWED) or -D{}=allowed silences this", nio.selectableChannel(), REMEDY,
                    NioChannels.PROPERTY);
        }
    }

    /** Pipes have no addresses; domain sockets have no such option. */
    private static boolean isOfIp(SelectableChannel channel) {
        return channel instanceof NetworkChannel network
                && network.supportedOptions().contains(StandardSocketOptions.SO_REUSEADDR);
    }
}
