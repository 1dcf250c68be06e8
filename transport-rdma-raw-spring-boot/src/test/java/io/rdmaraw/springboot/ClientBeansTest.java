package io.rdmaraw.springboot;

import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.reactornetty.RdmaRawLoopResources;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.http.client.ReactorResourceFactory;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.LoopResources;

/** Clients without explicitly configured loops use the loops of the transport. */
class ClientBeansTest {
    private static final RdmaRawLoopResources LOOPS = new RdmaRawLoopResources(1,
            RdmaRawIoHandlerConfig.builder().device("soft:loop").build());

    @AfterAll
    static void end() {
        LOOPS.disposeLater().block();
    }

    private static LoopResources loopsOf(HttpClient client, ReactorResourceFactory... factories) {
        DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
        for (ReactorResourceFactory factory : factories) {
            beans.registerSingleton("factory" + beans.getSingletonCount(), factory);
        }
        Object bean = new ClientBeans(beans.getBeanProvider(ReactorResourceFactory.class))
                .postProcessAfterInitialization(client, "client");
        return ((HttpClient) bean).configuration().loopResources();
    }

    private static ReactorResourceFactory factory(LoopResources loops) {
        ReactorResourceFactory factory = new ReactorResourceFactory();
        factory.setUseGlobalResources(false);
        factory.setLoopResourcesSupplier(() -> loops);
        factory.afterPropertiesSet();
        return factory;
    }

    @Test
    void aClientThatNamesNoLoopsGetsTheTransports() {
        assertSame(LOOPS.onClient(true), loopsOf(HttpClient.create(), factory(LOOPS)).onClient(true));
    }

    /** A restarted application context creates new loops. The client then uses these. */
    @Test
    void aClientFollowsItsFactoryToNewLoops() {
        RdmaRawLoopResources later = new RdmaRawLoopResources(1,
                RdmaRawIoHandlerConfig.builder().device("soft:loop").build());
        ReactorResourceFactory factory = factory(LOOPS);
        LoopResources loops = loopsOf(HttpClient.create(), factory);
        factory.setLoopResources(later);
        assertSame(later.onClient(true), loops.onClient(true));
        later.disposeLater().block();
    }

    @Test
    void aClientKeepsLoopsThatItNames() {
        LoopResources own = LoopResources.create("own");
        assertSame(own, loopsOf(HttpClient.create().runOn(own), factory(LOOPS)));
        own.disposeLater().block();
    }

    @Test
    void otherFactoriesAreLeftAlone() {
        LoopResources kernels = LoopResources.create("kernel");
        assertNotSame(kernels, loopsOf(HttpClient.create(), factory(kernels)));
        assertNotSame(LOOPS.onClient(true),
                loopsOf(HttpClient.create(), factory(LOOPS), factory(LOOPS)).onClient(true));
        kernels.disposeLater().block();
    }
}
