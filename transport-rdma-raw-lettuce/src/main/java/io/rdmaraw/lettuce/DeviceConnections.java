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
 * Gives connections of Lettuce the channels and loops of a device. Lettuce's bootstrap has the class of channels that
 * it chose itself, which cannot be changed any more; so this takes all else of it over into another one. Thread-safe.
 */
final class DeviceConnections implements Closeable {
    private final RdmaRawEventLoopGroup loops;
    private final AddressResolverGroup<InetSocketAddress> resolver;

    /**
     * Takes the loops for a client.
     *
     * @param endingWithClient what the client closes at its end
     */
    DeviceConnections(RdmaRawEventLoopGroup loops, Collection<? super DeviceConnections> endingWithClient) {
        this.loops = Objects.requireNonNull(loops, "loops");
        resolver = new DnsAddressResolverGroup(new DnsNameResolverBuilder()
                .datagramChannelType(RdmaRawDatagramChannel.class).socketChannelType(RdmaRawSocketChannel.class));
        endingWithClient.add(this);
    }

    /** Ends what asked for names on the loops, which outlive the client. */
    @Override
    public void close() {
        resolver.close();
    }

    void take(ConnectionBuilder builder, RedisURI uri) {
        if (uri.getSocket() != null && !uri.getSocket().isEmpty()) {
            return;
        }
        Bootstrap theirs = builder.bootstrap();
        Bootstrap ours = new Bootstrap().group(loops).channel(RdmaRawSocketChannel.class);
        theirs.config().options().forEach((option, value) -> set(ours, option, value));
        theirs.config().attrs().forEach((key, value) -> setAttribute(ours, key, value));
        AddressResolverGroup<?> chosen = theirs.config().resolver();
        // Lettuce's own would open datagram channels of the kernel's on these loops.
        ours.resolver(chosen == DefaultClientResources.DEFAULT_ADDRESS_RESOLVER_GROUP ? resolver : chosen);
        builder.bootstrap(ours);
    }

    @SuppressWarnings("unchecked") // an option has its value's type
    private static <T> void set(Bootstrap bootstrap, ChannelOption<T> option, Object value) {
        bootstrap.option(option, (T) value);
    }

    @SuppressWarnings("unchecked") // as above
    private static <T> void setAttribute(Bootstrap bootstrap, AttributeKey<T> key, Object value) {
        bootstrap.attr(key, (T) value);
    }
}
