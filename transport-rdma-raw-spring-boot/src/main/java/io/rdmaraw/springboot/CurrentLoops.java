package io.rdmaraw.springboot;

import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import org.springframework.http.client.ReactorResourceFactory;
import reactor.netty.resources.LoopResources;

/**
 * Delegates to the current loops of a factory, which creates new loops when its context is restarted. The factory
 * disposes of the loops.
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
