package io.rdmaraw.lettuce;

import io.lettuce.core.ConnectionBuilder;
import io.lettuce.core.ConnectionEvents;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.resource.ClientResources;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import reactor.core.publisher.Mono;

import java.net.SocketAddress;

/** A cluster client with the same properties as {@link RdmaRawRedisClient}. */
public final class RdmaRawRedisClusterClient extends RedisClusterClient {
    private final DeviceBootstraps bootstraps;

    private RdmaRawRedisClusterClient(ClientResources resourcesOrNull, RdmaRawEventLoopGroup loops,
                                      Iterable<RedisURI> nodes) {
        super(resourcesOrNull, nodes);
        bootstraps = new DeviceBootstraps(loops, closeableResources);
    }

    /**
     * Creates a client with its own client resources, which are shut down with it.
     *
     * @param loops event loops of the connections
     * @param nodes nodes of the cluster from which the client discovers the others
     */
    public static RdmaRawRedisClusterClient create(RdmaRawEventLoopGroup loops, Iterable<RedisURI> nodes) {
        return new RdmaRawRedisClusterClient(null, loops, nodes);
    }

    /**
     * Creates a client with shared client resources, which the caller owns.
     *
     * @param resources client resources; their event loops are not used for connections
     * @param loops     event loops of the connections
     * @param nodes     nodes of the cluster from which the client discovers the others
     */
    public static RdmaRawRedisClusterClient create(ClientResources resources, RdmaRawEventLoopGroup loops,
                                                   Iterable<RedisURI> nodes) {
        return new RdmaRawRedisClusterClient(resources, loops, nodes);
    }

    @Override
    protected void connectionBuilder(Mono<SocketAddress> address, ConnectionBuilder builder, ConnectionEvents events,
                                     RedisURI uri) {
        super.connectionBuilder(address, builder, events, uri);
        bootstraps.moveToDevice(builder, uri);
    }
}
