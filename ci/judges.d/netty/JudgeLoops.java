// SPDX-License-Identifier: Apache-2.0
package io.rdmaraw.judge;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.rdmaraw.channel.RdmaRawIoHandler;

import java.util.concurrent.TimeUnit;

/**
 * The loops of servers and those of clients. Some handlers block until the other end has done something, so the ends do
 * not share loops.
 */
public final class JudgeLoops {
    private static final int LOOPS = 4;
    private static EventLoopGroup servers = create("judge-servers");
    private static EventLoopGroup clients = create("judge-clients");

    private JudgeLoops() {
    }

    private static EventLoopGroup create(String threads) {
        return new MultiThreadIoEventLoopGroup(LOOPS, new DefaultThreadFactory(threads, true),
                RdmaRawIoHandler.newFactory());
    }

    /** Returns the loops of servers and datagram channels. */
    public static synchronized EventLoopGroup servers() {
        return servers;
    }

    /** Returns the loops of clients. */
    public static synchronized EventLoopGroup clients() {
        return clients;
    }

    /** Makes new loops after a failed test, whose handlers may block the old ones for ever. */
    static synchronized void renew() {
        servers.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        clients.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        servers = create("judge-servers");
        clients = create("judge-clients");
    }
}
