package io.rdmaraw.examples.tcp;

import io.rdmaraw.examples.Setup;
import io.rdmaraw.examples.Stage;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The echo, and a proxy in front of it, with a client that ends its sending before it has read. */
@Timeout(120)
class EchoServerTest {
    @ParameterizedTest
    @EnumSource
    void sendsEverythingBack(Setup setup) throws Exception {
        try (Stage stage = new Stage(setup)) {
            Halves.check(stage, stage.start(new EchoServer()).address());
        }
    }

    @ParameterizedTest
    @EnumSource
    void sendsEverythingBackThroughAProxy(Setup setup) throws Exception {
        try (Stage stage = new Stage(setup)) {
            var echo = stage.start(new EchoServer()).address();
            var proxy = stage.start(new ProxyServer(), "--to", echo.getHostString() + ':' + echo.getPort());
            Halves.check(stage, proxy.address());
        }
    }
}
