package io.rdmaraw.channel;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoopGroup;

import java.lang.invoke.MethodHandles;
import java.util.Map;

/** Finds the group with which a {@link ServerBootstrap} registers the accepted connections of a server channel. */
final class ChildGroups {
    private static final String ACCEPTOR = ServerBootstrap.class.getName() + "$ServerBootstrapAcceptor";

    private ChildGroups() {
    }

    /** Returns the child group of a server channel; null if it is unknown. */
    static EventLoopGroup findOrNull(ChannelPipeline pipeline) {
        for (Map.Entry<String, ChannelHandler> entry : pipeline) {
            ChannelHandler handler = entry.getValue();
            if (handler.getClass().getName().equals(ACCEPTOR)) {
                return read(handler);
            }
        }
        return null;
    }

    private static EventLoopGroup read(ChannelHandler acceptor) {
        try {
            Class<?> type = acceptor.getClass();
            return (EventLoopGroup) MethodHandles.privateLookupIn(type, MethodHandles.lookup())
                    .findVarHandle(type, "childGroup", EventLoopGroup.class).get(acceptor);
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            // Not accessible: Netty is a named module, or a native image lacks the field. The first connection shows
            // the group, too.
            return null;
        }
    }
}
