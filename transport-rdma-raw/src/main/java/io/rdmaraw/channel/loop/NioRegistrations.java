package io.rdmaraw.channel.loop;

import io.netty.channel.IoHandle;
import io.netty.channel.nio.NioIoHandle;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.kernel.KernelStreamSocket;

import java.net.StandardSocketOptions;
import java.nio.channels.NetworkChannel;
import java.nio.channels.SelectableChannel;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The NIO channels that are registered with the loops of a group: they are counted, and reported or refused if the user
 * has configured that.
 */
public final class NioRegistrations {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(NioRegistrations.class);
    private static final String REMEDY = "the kernel carries them, not the device. Give bootstraps "
            + "RdmaRawSocketChannel, RdmaRawServerSocketChannel and RdmaRawDatagramChannel; where a framework chooses "
            + "the classes, docs/guide/frameworks.md says how";

    /** System property with the default of the policy. */
    public static final String PROPERTY = "io.rdmaraw.nioChannels";

    private final boolean refused;
    private final boolean logged;
    private final AtomicBoolean reported = new AtomicBoolean();

    /**
     * Creates the registrations of a group.
     *
     * @param refused whether channels fail to register
     * @param logged whether the first channel is logged
     */
    public NioRegistrations(boolean refused, boolean logged) {
        this.refused = refused;
        this.logged = logged;
    }

    /** Returns whether the loops report that they can drive this type of handle. */
    public boolean admits(Class<? extends IoHandle> handleType) {
        return !refused || handleType != NioIoHandle.class;
    }

    /**
     * Counts, reports or rejects a channel that is being registered.
     *
     * @throws UnsupportedOperationException if the policy rejects the channel
     */
    public void onRegistration(IoHandle handle, LoopStatistics statistics) {
        if (!(handle instanceof NioIoHandle nio) || !isOfIp(nio.selectableChannel())
                || KernelStreamSocket.isOwnSocket(nio.selectableChannel())) {
            return;
        }
        if (refused) {
            statistics.nioChannelsRefused++;
            throw new UnsupportedOperationException("NIO channels of TCP and UDP are refused on these loops ("
                    + PROPERTY + "): " + REMEDY);
        }
        statistics.nioChannels++;
        if (logged && reported.compareAndSet(false, true)) {
            LOGGER.warn("NIO channels of TCP or UDP are on loops of this transport, first {}: {}; if it is meant so, "
                    + "nioChannels(ALLOWED) or -D{}=allowed silences this", nio.selectableChannel(), REMEDY,
                    PROPERTY);
        }
    }

    /**
     * Returns whether a channel uses TCP or UDP. Pipes are not network channels, and Unix domain sockets lack this
     * option.
     */
    private static boolean isOfIp(SelectableChannel channel) {
        return channel instanceof NetworkChannel network
                && network.supportedOptions().contains(StandardSocketOptions.SO_REUSEADDR);
    }
}
