package io.rdmaraw.kernel;

import io.netty.channel.socket.SocketChannelConfig;
import io.netty.channel.socket.nio.NioSocketChannel;

import java.nio.channels.SelectableChannel;
import java.nio.channels.SocketChannel;
import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;

/** An NIO channel of this transport for a connection that the kernel carries. Users do not create such channels. */
public final class KernelStreamSocket extends NioSocketChannel {
    private static final Set<SelectableChannel> OPENED =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    /** Null while the constructor of the superclass runs. */
    private final SocketChannelConfig config;

    private KernelStreamSocket() {
        config = new KernelStreamSocketConfig(this, javaChannel().socket(), super.config(), null);
        OPENED.add(javaChannel());
    }

    /** Creates the channel of an accepted connection. */
    KernelStreamSocket(KernelListener.Server server, SocketChannel accepted) {
        super(server.channel(), accepted);
        config = new KernelStreamSocketConfig(this, accepted.socket(), super.config(), server);
        OPENED.add(accepted);
    }

    /** Creates an unconnected socket. */
    public static KernelStreamSocket open() {
        return new KernelStreamSocket();
    }

    /** Returns whether a socket belongs to a channel of this class. May be called on any thread. */
    public static boolean isOwnSocket(SelectableChannel socket) {
        return OPENED.contains(socket);
    }

    @Override
    public SocketChannelConfig config() {
        return config == null ? super.config() : config;
    }

    void autoReadCleared() {
        clearReadPending();
    }
}
