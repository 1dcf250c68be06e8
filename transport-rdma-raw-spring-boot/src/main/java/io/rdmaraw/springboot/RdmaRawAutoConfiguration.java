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
 * Puts WebFlux' server, each {@code WebClient} that Spring Boot builds, and Reactor Netty's clients that are beans,
 * such as Spring Cloud Gateway's, on this transport, if {@code rdmaraw.device} names a device. {@code rdmaraw.loops} is
 * the number of event loops.
 */
@AutoConfiguration
@AutoConfigureOrder(Ordered.HIGHEST_PRECEDENCE) // before Spring Boot makes a factory of its own
@ConditionalOnClass({ReactorResourceFactory.class, LoopResources.class})
@ConditionalOnProperty("rdmaraw.device")
public final class RdmaRawAutoConfiguration {
    /** Spring makes it. */
    public RdmaRawAutoConfiguration() {
    }

    /** Returns what Spring Boot gives to its server and to its clients; it disposes of the loops at the end. */
    @Bean
    @ConditionalOnMissingBean
    ReactorResourceFactory reactorResourceFactory(Environment environment) {
        RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder()
                .ipDevice(environment.getRequiredProperty("rdmaraw.device")).build();
        int loops = environment.getProperty("rdmaraw.loops", Integer.class, LoopResources.DEFAULT_IO_WORKER_COUNT);
        ReactorResourceFactory factory = new ReactorResourceFactory();
        factory.setUseGlobalResources(false);
        factory.setLoopResourcesSupplier(() -> new RdmaRawLoopResources(loops, config));
        return factory;
    }

    /** Returns what puts clients that are beans on the loops. */
    @Bean
    static BeanPostProcessor rdmaRawClientBeans(ObjectProvider<ReactorResourceFactory> factory) {
        return new ClientBeans(factory);
    }

    /** What the transport counts, for the actuator's metrics. */
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
