package io.rdmaraw.micronaut;

import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.BootstrapContextCompatible;
import io.micronaut.context.annotation.EachBean;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Primary;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.netty.channel.DefaultEventLoopGroupConfiguration;
import io.micronaut.http.netty.channel.DefaultEventLoopGroupRegistry;
import io.micronaut.http.netty.channel.EventLoopGroupConfiguration;
import io.micronaut.http.netty.channel.NettyThreadFactory;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Named;
import jakarta.inject.Singleton;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * Creates Micronaut's event loop groups if the property {@code rdmaraw.device} is set.
 * {@code micronaut.netty.event-loops} configures the number of loops. Unlike a plain Netty group, a group of the
 * transport's own class serves a port on all of its loops.
 */
@Factory
@BootstrapContextCompatible
@Requires(property = RdmaRawEventLoopGroupFactory.DEVICE)
final class RdmaRawEventLoopGroups {
    private final RdmaRawEventLoopGroupFactory transport;
    private final Map<EventLoopGroup, EventLoopGroupConfiguration> groups = new ConcurrentHashMap<>();

    /** Called by Micronaut. */
    RdmaRawEventLoopGroups(RdmaRawEventLoopGroupFactory transport) {
        this.transport = transport;
    }

    /** Creates a group for an entry of the configuration. */
    @EachBean(EventLoopGroupConfiguration.class)
    @Bean(typed = EventLoopGroup.class)
    @BootstrapContextCompatible
    @Replaces(bean = EventLoopGroup.class, factory = DefaultEventLoopGroupRegistry.class)
    EventLoopGroup configured(EventLoopGroupConfiguration configuration) {
        return made(configuration, new DefaultThreadFactory(configuration.getName() + "-rdma-raw"));
    }

    /** Creates the default group if it is not configured. */
    @Singleton
    @Requires(missingProperty = EventLoopGroupConfiguration.DEFAULT_LOOP)
    @Primary
    @Bean(typed = EventLoopGroup.class)
    @BootstrapContextCompatible
    EventLoopGroup byDefault(@Named(NettyThreadFactory.NAME) ThreadFactory threads) {
        return made(new DefaultEventLoopGroupConfiguration(), threads);
    }

    private EventLoopGroup made(EventLoopGroupConfiguration configuration, ThreadFactory threads) {
        EventLoopGroup group = new RdmaRawEventLoopGroup(DefaultEventLoopGroupRegistry.numThreads(configuration),
                threads, transport.config());
        groups.put(group, configuration);
        return group;
    }

    /** Called by Micronaut after servers and clients have been stopped. */
    @PreDestroy
    void end() {
        groups.forEach((group, configuration) -> group.shutdownGracefully(
                configuration.getShutdownQuietPeriod().toMillis(), configuration.getShutdownTimeout().toMillis(),
                TimeUnit.MILLISECONDS));
        groups.clear();
    }
}
