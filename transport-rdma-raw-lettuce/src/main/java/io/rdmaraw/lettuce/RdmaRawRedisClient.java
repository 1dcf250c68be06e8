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
 * A Lettuce client that connects on the device of an event loop group: {@code RdmaRawRedisClient.create(loops,
 * RedisURI.create("redis://192.0.2.1"))}. Host names are resolved on that device, too, unless the client resources have
 * their own resolver. The kernel serves domain sockets. The caller owns the group and shuts it down after the client.
 */
public final class RdmaRawRedisClient extends RedisClient {
    private final DeviceBootstraps bootstraps;

    private RdmaRawRedisClient(ClientResources resourcesOrNull, RdmaRawEventLoopGroup loops, RedisURI uri) {
        super(resourcesOrNull, uri);
        bootstraps = new DeviceBootstraps(loops, closeableResources);
    }

    /**
     * Creates a client with its own client resources, which are shut down with it.
     *
     * @param loops event loops of the connections
     * @param uri   the server, or the sentinels
     */
    public static RdmaRawRedisClient create(RdmaRawEventLoopGroup loops, RedisURI uri) {
        return new RdmaRawRedisClient(null, loops, uri);
    }

    /**
     * Creates a client with shared client resources, which the caller owns.
     *
     * @param resources client resources; their event loops are not used for connections
     * @param loops     event loops of the connections
     * @param uri       the server, or the sentinels
     */
    public static RdmaRawRedisClient create(ClientResources resources, RdmaRawEventLoopGroup loops, RedisURI uri) {
        return new RdmaRawRedisClient(resources, loops, uri);
    }

    @Override
    protected void connectionBuilder(Mono<SocketAddress> address, ConnectionBuilder builder, ConnectionEvents events,
                                     RedisURI uri) {
        super.connectionBuilder(address, builder, events, uri);
        bootstraps.moveToDevice(builder, uri);
    }
}
