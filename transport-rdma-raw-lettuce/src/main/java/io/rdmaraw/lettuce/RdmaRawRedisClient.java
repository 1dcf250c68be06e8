package io.rdmaraw.lettuce;

import io.lettuce.core.ConnectionBuilder;
import io.lettuce.core.ConnectionEvents;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.resource.ClientResources;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import reactor.core.publisher.Mono;

import java.net.SocketAddress;

/**
 * A Lettuce client whose connections go by the device of a group's loops: {@code RdmaRawRedisClient.create(loops,
 * RedisURI.create("redis://192.0.2.1"))}. Names are resolved over that device too, unless the client's resources have a
 * resolver of their own. Domain sockets are the kernel's. The group stays its maker's, who ends it after the client.
 */
public final class RdmaRawRedisClient extends RedisClient {
    private final DeviceConnections connections;

    private RdmaRawRedisClient(ClientResources resourcesOrNull, RdmaRawEventLoopGroup loops, RedisURI uri) {
        super(resourcesOrNull, uri);
        connections = new DeviceConnections(loops, closeableResources);
    }

    /**
     * Makes a client with resources of its own, which end with it.
     *
     * @param loops the event loops of its connections
     * @param uri   the server, or the sentinels
     */
    public static RdmaRawRedisClient create(RdmaRawEventLoopGroup loops, RedisURI uri) {
        return new RdmaRawRedisClient(null, loops, uri);
    }

    /**
     * Makes a client with resources that are shared, and stay their maker's.
     *
     * @param resources all but the event loops, of which it takes {@code loops}
     * @param loops     the event loops of its connections
     * @param uri       the server, or the sentinels
     */
    public static RdmaRawRedisClient create(ClientResources resources, RdmaRawEventLoopGroup loops, RedisURI uri) {
        return new RdmaRawRedisClient(resources, loops, uri);
    }

    @Override
    protected void connectionBuilder(Mono<SocketAddress> address, ConnectionBuilder builder, ConnectionEvents events,
                                     RedisURI uri) {
        super.connectionBuilder(address, builder, events, uri);
        connections.take(builder, uri);
    }
}
