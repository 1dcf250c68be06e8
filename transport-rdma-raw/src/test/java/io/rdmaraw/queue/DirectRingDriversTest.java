package io.rdmaraw.queue;

import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.InputStream;
import java.lang.module.ModuleDescriptor;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.Map;
import java.util.ServiceConfigurationError;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

class DirectRingDriversTest {
    private static final Path CLASSES = classes();

    private static Path classes() {
        return Path.of(DirectRingDriver.class.getProtectionDomain().getCodeSource().getLocation().getPath());
    }

    @Test
    void classPathDeclaresTheServicesOfTheModule() throws IOException {
        assertEquals(ofModule(), ofClassPath());
        assertTrue(ofModule().containsKey(DirectRingDriver.class.getName()));
    }

    private static Map<String, Set<String>> ofModule() throws IOException {
        try (InputStream in = Files.newInputStream(CLASSES.resolve("module-info.class"))) {
            return ModuleDescriptor.read(in).provides().stream().collect(Collectors.toMap(
                    ModuleDescriptor.Provides::service, provides -> Set.copyOf(provides.providers())));
        }
    }

    private static Map<String, Set<String>> ofClassPath() throws IOException {
        try (var files = Files.list(CLASSES.resolve("META-INF/services"))) {
            return files.collect(Collectors.toMap(file -> file.getFileName().toString(), lines()));
        }
    }

    private static Function<Path, Set<String>> lines() {
        return file -> {
            try {
                return Set.copyOf(Files.readAllLines(file));
            } catch (IOException e) {
                throw new IllegalStateException(file.toString(), e);
            }
        };
    }

    @Test
    void unloadableServiceDoesNotAffectOthers() {
        DirectRingDriver loaded = (DirectRingDriver) Proxy.newProxyInstance(DirectRingDriver.class.getClassLoader(),
                new Class<?>[] {DirectRingDriver.class}, (proxy, method, arguments) -> null);
        Iterator<DirectRingDriver> services = new Iterator<>() {
            private int asked;

            @Override
            public boolean hasNext() {
                return asked < 2;
            }

            @Override
            public DirectRingDriver next() {
                if (asked++ == 0) {
                    throw new ServiceConfigurationError("planted");
                }
                return loaded;
            }
        };
        assertEquals(1, DirectRingDrivers.load(services).size());
    }

    @Test
    void requiredRingsOfASoftwareDeviceAreRefusedWithTheRemedy() {
        assertEquals("direct verbs are required, but soft:loop:direct-rings is a software device; use a device of mlx5,"
                + " or leave the choice to the transport (DirectAccess.AUTO)",
                refusal(DirectAccess.REQUIRED, StridingReceive.NEVER));
    }

    @Test
    void requiredStridingReceiveOfASoftwareDeviceIsRefusedWithTheRemedy() {
        assertEquals("striding receive queues are required, but the rings of soft:loop:direct-rings are not used in"
                + " place; use a device of mlx5 with direct verbs, or leave the choice to the transport"
                + " (StridingReceive.AUTO)", refusal(DirectAccess.AUTO, StridingReceive.REQUIRED));
    }

    private static String refusal(DirectAccess directVerbs, StridingReceive striding) {
        SharedDevice device = SharedDevice.acquire("soft:loop:direct-rings");
        try {
            return assertThrows(UnsupportedOperationException.class, () -> FrameQueue.open(device, 1, null,
                    new FrameQueueOptions(64, 64, 2, 512, 2048, directVerbs, false, striding))).getMessage();
        } finally {
            device.release();
        }
    }
}
