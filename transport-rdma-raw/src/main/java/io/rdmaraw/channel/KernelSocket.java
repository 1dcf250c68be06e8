package io.rdmaraw.channel;

import io.netty.channel.Channel;
import io.netty.channel.socket.nio.NioSocketChannel;

import java.nio.channels.SocketChannel;

/** The kernel's socket of a connection that this transport has handed to the kernel, of its own accord. */
final class KernelSocket extends NioSocketChannel {
    KernelSocket() {
        NioRegistrations.own(javaChannel());
    }

    /** One that a listening socket of the kernel's has accepted. */
    KernelSocket(Channel parent, SocketChannel accepted) {
        super(parent, accepted);
        NioRegistrations.own(accepted);
    }
}
