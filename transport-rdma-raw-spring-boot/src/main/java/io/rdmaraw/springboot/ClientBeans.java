package io.rdmaraw.springboot;

import io.rdmaraw.reactornetty.RdmaRawLoopResources;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.http.client.ReactorResourceFactory;
import reactor.netty.resources.LoopResources;
import reactor.netty.tcp.TcpResources;
import reactor.netty.transport.ClientTransport;

/**
 * Moves Reactor Netty clients that are beans to the transport, unless they have their own loops. Spring Boot passes its
 * loops only to clients that it builds. Spring Cloud Gateway creates its own {@code HttpClient}, which would use
 * Reactor Netty's global loops and thus kernel sockets.
 */
final class ClientBeans implements BeanPostProcessor {
    private static final Log LOG = LogFactory.getLog(ClientBeans.class);

    private final ObjectProvider<ReactorResourceFactory> factory;

    ClientBeans(ObjectProvider<ReactorResourceFactory> factory) {
        this.factory = factory;
    }

    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        if (bean instanceof ClientTransport<?, ?> client) {
            return onDevice(client, name);
        }
        if (bean instanceof ReactorResourceFactory own && !(own.getLoopResources() instanceof RdmaRawLoopResources)) {
            LOG.warn("rdmaraw.device has no effect on what the bean '" + name + "' gives loops to: they are the"
                    + " kernel's; give it an RdmaRawLoopResources by setLoopResourcesSupplier, or leave the bean out.");
        }
        return bean;
    }

    private Object onDevice(ClientTransport<?, ?> client, String name) {
        LoopResources named = client.configuration().loopResources();
        ReactorResourceFactory unique = factory.getIfUnique();
        LoopResources loops = unique == null ? null : unique.getLoopResources();
        if (named instanceof TcpResources && loops instanceof RdmaRawLoopResources) {
            LOG.info("The client '" + name + "' connects by the device of rdmaraw.device.");
            return client.runOn(new CurrentLoops(unique));
        }
        if (!(named instanceof RdmaRawLoopResources)) {
            LOG.warn("The client '" + name + "' does not connect by the device of rdmaraw.device: it runs on "
                    + named.getClass().getName() + "; give it the loops by runOn(reactorResourceFactory"
                    + ".getLoopResources()).");
        }
        return client;
    }
}
