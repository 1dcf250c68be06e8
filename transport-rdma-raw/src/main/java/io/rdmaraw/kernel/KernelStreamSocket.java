package io.rdmaraw.kernel;

import io.netty.channel.socket.SocketChannelConfig;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.rdmaraw.net.socket.NumberedOptions;
import io.rdmaraw.net.socket.ServerDescriptor;

import java.io.IOException;
import java.nio.channels.ClosedChannelException;
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
    /** Guards {@link #fd}: another file may have the descriptor after the socket is closed. */
    private final Object descriptorLock = new Object();
    /** Descriptor of the socket; -1 if it was not searched for. */
    private int fd = -1;

    private KernelStreamSocket() {
        config = new KernelStreamSocketConfig(this, javaChannel().socket(), super.config(), null);
        OPENED.add(javaChannel());
    }

    /** Creates the channel of an accepted connection. */
    KernelStreamSocket(KernelPort port, SocketChannel accepted) {
        super(port.server().channel(), accepted);
        config = new KernelStreamSocketConfig(this, accepted.socket(), super.config(), port);
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

    /**
     * Sets options by number.
     *
     * @throws IOException if the kernel rejects one
     */
    void setOptions(NumberedOptions options) throws IOException {
        if (!options.isEmpty()) {
            synchronized (descriptorLock) {
                options.applyTo(descriptor());
            }
        }
    }

    /**
     * Sets an option by number.
     *
     * @throws IOException if the kernel rejects it
     */
    void setOption(NumberedOptions.Key key, byte[] value) throws IOException {
        synchronized (descriptorLock) {
            NumberedOptions.set(descriptor(), key, value);
        }
    }

    /** Reads an option by number. */
    byte[] option(NumberedOptions.Key key, int maxBytes) throws IOException {
        synchronized (descriptorLock) {
            return NumberedOptions.get(descriptor(), key, maxBytes);
        }
    }

    private int descriptor() throws IOException {
        if (!isOpen()) {
            throw new ClosedChannelException();
        }
        if (fd < 0) {
            fd = ServerDescriptor.find(javaChannel());
        }
        if (fd < 0) {
            throw new IOException("the descriptor of the kernel's socket is not known");
        }
        return fd;
    }

    @Override
    protected void doClose() throws Exception {
        synchronized (descriptorLock) {
            super.doClose();
        }
    }

    void autoReadCleared() {
        clearReadPending();
    }
}
