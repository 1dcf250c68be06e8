package io.rdmaraw.testsuite.contract;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.EventExecutor;

import java.util.concurrent.TimeUnit;

/** The event loop groups of one transport. Programs share them, unless a program ends a group. */
final class Groups implements AutoCloseable {
    private static final int SERVER_LOOPS = 2;
    private static final long END_SECONDS = 5;

    final Transport transport;
    private EventLoopGroup servers;
    private EventLoopGroup clients;
    private EventLoopGroup kernel;
    private EventLoopGroup nio;

    Groups(Transport transport) {
        this.transport = transport;
    }

    EventLoopGroup servers() {
        servers = usable(servers) ? servers : transport.newGroup().apply(SERVER_LOOPS);
        return servers;
    }

    EventLoopGroup clients() {
        clients = usable(clients) ? clients : transport.newGroup().apply(1);
        return clients;
    }

    /** Returns loops of the transport that use kernel sockets. */
    EventLoopGroup kernel() {
        kernel = usable(kernel) ? kernel : transport.newKernelGroup().apply(SERVER_LOOPS);
        return kernel;
    }

    /** Returns NIO loops, for the other ends of kernel connections. */
    EventLoopGroup nio() {
        nio = usable(nio) ? nio : new MultiThreadIoEventLoopGroup(1,
                new DefaultThreadFactory("contract-kernel", true), NioIoHandler.newFactory());
        return nio;
    }

    private static boolean usable(EventLoopGroup group) {
        if (group == null || group.isShuttingDown()) {
            return false;
        }
        for (EventExecutor loop : group) {
            if (loop.isShuttingDown()) {
                end(group);
                return false;
            }
        }
        return true;
    }

    private static void end(EventLoopGroup group) {
        if (group != null && !group.isTerminated()) {
            group.shutdownGracefully(0, END_SECONDS, TimeUnit.SECONDS);
        }
    }

    /** Shuts down all groups after a program that may have damaged them. */
    void discard() {
        end(servers);
        end(clients);
        end(kernel);
        end(nio);
        servers = null;
        clients = null;
        kernel = null;
        nio = null;
    }

    @Override
    public void close() {
        discard();
    }
}
