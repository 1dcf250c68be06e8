package io.rdmaraw.lettuce;

import io.lettuce.core.ConnectionBuilder;
import io.lettuce.core.RedisURI;
import io.lettuce.core.resource.DefaultClientResources;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelOption;
import io.netty.resolver.AddressResolverGroup;
import io.netty.resolver.dns.DnsAddressResolverGroup;
import io.netty.resolver.dns.DnsNameResolverBuilder;
import io.netty.util.AttributeKey;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawSocketChannel;

import java.io.Closeable;
import java.net.InetSocketAddress;
import java.util.Collection;
import java.util.Objects;

/**
 * Replaces bootstraps of Lettuce by bootstraps with the channels and loops of a device. The channel class of a
 * bootstrap cannot be changed once it is set, so all other settings are copied to a new one. Thread-safe.
 */
final class DeviceBootstraps implements Closeable {
    private final RdmaRawEventLoopGroup loops;
    private final AddressResolverGroup<InetSocketAddress> resolver;

    /**
     * Creates the object for one client.
     *
     * @param loops            event loops of the connections
     * @param endingWithClient resources that the client closes when it is shut down; this object adds itself
     */
    DeviceBootstraps(RdmaRawEventLoopGroup loops, Collection<? super DeviceBootstraps> endingWithClient) {
        this.loops = Objects.requireNonNull(loops, "loops");
        resolver = new DnsAddressResolverGroup(new DnsNameResolverBuilder()
                .datagramChannelType(RdmaRawDatagramChannel.class).socketChannelType(RdmaRawSocketChannel.class));
        endingWithClient.add(this);
    }

    /** Closes the name resolver, which runs on the loops. The loops outlive the client. */
    @Override
    public void close() {
        resolver.close();
    }

    /** Replaces the bootstrap of a connection, except that of a domain socket, which the kernel serves. */
    void moveToDevice(ConnectionBuilder builder, RedisURI uri) {
        if (uri.getSocket() != null && !uri.getSocket().isEmpty()) {
            return;
        }
        Bootstrap theirs = builder.bootstrap();
        Bootstrap ours = new Bootstrap().group(loops).channel(RdmaRawSocketChannel.class);
        theirs.config().options().forEach((option, value) -> set(ours, option, value));
        theirs.config().attrs().forEach((key, value) -> setAttribute(ours, key, value));
        AddressResolverGroup<?> chosen = theirs.config().resolver();
        // Lettuce's default resolver would open kernel datagram channels on these loops.
        ours.resolver(chosen == DefaultClientResources.DEFAULT_ADDRESS_RESOLVER_GROUP ? resolver : chosen);
        builder.bootstrap(ours);
    }

    @SuppressWarnings("unchecked") // the value has the type of its option
    private static <T> void set(Bootstrap bootstrap, ChannelOption<T> option, Object value) {
        bootstrap.option(option, (T) value);
    }

    @SuppressWarnings("unchecked") // as above
    private static <T> void setAttribute(Bootstrap bootstrap, AttributeKey<T> key, Object value) {
        bootstrap.attr(key, (T) value);
    }
}
