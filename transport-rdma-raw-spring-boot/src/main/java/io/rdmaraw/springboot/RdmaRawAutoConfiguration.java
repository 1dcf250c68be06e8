package io.rdmaraw.springboot;

import io.micrometer.core.instrument.binder.MeterBinder;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.metrics.RdmaRawMeterBinder;
import io.rdmaraw.reactornetty.RdmaRawLoopResources;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigureOrder;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.env.Environment;
import org.springframework.http.client.ReactorResourceFactory;
import reactor.netty.resources.LoopResources;

/**
 * Configures this transport if {@code rdmaraw.device} is set. It is used by the WebFlux server, by each
 * {@code WebClient} that Spring Boot builds, and by Reactor Netty clients that are beans, such as that of Spring Cloud
 * Gateway. {@code rdmaraw.loops} sets the number of event loops.
 */
@AutoConfiguration
@AutoConfigureOrder(Ordered.HIGHEST_PRECEDENCE) // before Spring Boot creates its own factory
@ConditionalOnClass({ReactorResourceFactory.class, LoopResources.class})
@ConditionalOnProperty("rdmaraw.device")
public final class RdmaRawAutoConfiguration {
    /** Called by Spring. */
    public RdmaRawAutoConfiguration() {
    }

    /** Returns the resources that Spring Boot passes to its server and clients. Spring Boot disposes of the loops. */
    @Bean
    @ConditionalOnMissingBean
    ReactorResourceFactory reactorResourceFactory(Environment environment) {
        RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder()
                .device(environment.getRequiredProperty("rdmaraw.device")).build();
        int loops = environment.getProperty("rdmaraw.loops", Integer.class, LoopResources.DEFAULT_IO_WORKER_COUNT);
        ReactorResourceFactory factory = new ReactorResourceFactory();
        factory.setUseGlobalResources(false);
        factory.setLoopResourcesSupplier(() -> new RdmaRawLoopResources(loops, config));
        return factory;
    }

    /** Returns the post-processor that moves client beans to the loops. */
    @Bean
    static BeanPostProcessor rdmaRawClientBeans(ObjectProvider<ReactorResourceFactory> factory) {
        return new ClientBeans(factory);
    }

    /** Provides the transport's metrics to the actuator. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(MeterBinder.class)
    static final class Metrics {
        /** Returns the binder, which Spring Boot binds to its registry. */
        @Bean
        @ConditionalOnMissingBean
        RdmaRawMeterBinder rdmaRawMeterBinder() {
            return new RdmaRawMeterBinder();
        }
    }
}
