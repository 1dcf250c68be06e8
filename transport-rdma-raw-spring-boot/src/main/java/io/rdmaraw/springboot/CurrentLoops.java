package io.rdmaraw.springboot;

import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import org.springframework.http.client.ReactorResourceFactory;
import reactor.netty.resources.LoopResources;

/**
 * The loops that a factory has at the moment: it makes others when its context is stopped and started again. They are
 * the factory's to end.
 */
final class CurrentLoops implements LoopResources {
    private final ReactorResourceFactory factory;

    CurrentLoops(ReactorResourceFactory factory) {
        this.factory = factory;
    }

    @Override
    public EventLoopGroup onServer(boolean useNative) {
        return factory.getLoopResources().onServer(useNative);
    }

    @Override
    public EventLoopGroup onServerSelect(boolean useNative) {
        return factory.getLoopResources().onServerSelect(useNative);
    }

    @Override
    public EventLoopGroup onClient(boolean useNative) {
        return factory.getLoopResources().onClient(useNative);
    }

    @Override
    public <C extends Channel> C onChannel(Class<C> channelType, EventLoopGroup group) {
        return factory.getLoopResources().onChannel(channelType, group);
    }

    @Override
    public <C extends Channel> Class<? extends C> onChannelClass(Class<C> channelType, EventLoopGroup group) {
        return factory.getLoopResources().onChannelClass(channelType, group);
    }

    @Override
    public boolean daemon() {
        return factory.getLoopResources().daemon();
    }
}
