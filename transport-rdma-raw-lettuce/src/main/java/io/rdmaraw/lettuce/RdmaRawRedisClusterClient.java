package io.rdmaraw.lettuce;

import io.lettuce.core.ConnectionBuilder;
import io.lettuce.core.ConnectionEvents;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.resource.ClientResources;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import reactor.core.publisher.Mono;

import java.net.SocketAddress;

/** As {@link RdmaRawRedisClient}, for a cluster. */
public final class RdmaRawRedisClusterClient extends RedisClusterClient {
    private final DeviceConnections connections;

    private RdmaRawRedisClusterClient(ClientResources resourcesOrNull, RdmaRawEventLoopGroup loops,
                                      Iterable<RedisURI> nodes) {
        super(resourcesOrNull, nodes);
        connections = new DeviceConnections(loops, closeableResources);
    }

    /**
     * Makes a client with resources of its own, which end with it.
     *
     * @param loops the event loops of its connections
     * @param nodes some of the cluster, which tell it the others
     */
    public static RdmaRawRedisClusterClient create(RdmaRawEventLoopGroup loops, Iterable<RedisURI> nodes) {
        return new RdmaRawRedisClusterClient(null, loops, nodes);
    }

    /**
     * Makes a client with resources that are shared, and stay their maker's.
     *
     * @param resources all but the event loops, of which it takes {@code loops}
     * @param loops     the event loops of its connections
     * @param nodes     some of the cluster, which tell it the others
     */
    public static RdmaRawRedisClusterClient create(ClientResources resources, RdmaRawEventLoopGroup loops,
                                                   Iterable<RedisURI> nodes) {
        return new RdmaRawRedisClusterClient(resources, loops, nodes);
    }

    @Override
    protected void connectionBuilder(Mono<SocketAddress> address, ConnectionBuilder builder, ConnectionEvents events,
                                     RedisURI uri) {
        super.connectionBuilder(address, builder, events, uri);
        connections.take(builder, uri);
    }
}
