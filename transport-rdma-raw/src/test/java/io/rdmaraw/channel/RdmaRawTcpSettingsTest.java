package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.TcpLimits;
import io.rdmaraw.tcp.congestion.CongestionControl;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/** docs/reference/tcp-settings.md has a row for each setting of the core, with its default and its setter. */
class RdmaRawTcpSettingsTest {
    private static final Path TABLE = Path.of("..", "docs", "reference", "tcp-settings.md");
    private static final long MILLI_NANOS = 1_000_000;
    private static final long SECOND_NANOS = 1_000 * MILLI_NANOS;
    /** Fields of the core that form one row of the table. */
    private static final Map<String, String> NAMES = Map.of("fastOpenKeyHigh", "fastOpenKey", "fastOpenKeyLow",
            "fastOpenKey");
    /** Settings with a default that depends on the environment or is not a plain value. */
    private static final Set<String> IN_WORDS = Set.of("maxReceiveBufferBytes", "congestionControl", "fastOpenKey");

    private record Line(String name, String setBy, String unit, String defaultText) {
    }

    /** A field of the core's configuration. */
    private record Setting(Field field, boolean isLimit) {
        boolean isDuration() {
            return field.getName().endsWith("Nanos");
        }

        String name() {
            String name = NAMES.getOrDefault(field.getName(), field.getName());
            return isDuration() ? name.substring(0, name.length() - "Nanos".length()) : name;
        }

        Object of(TcpConfig config) throws ReflectiveOperationException {
            Object owner = config;
            if (isLimit) {
                Field limits = TcpConfig.class.getDeclaredField("limits");
                limits.setAccessible(true);
                owner = limits.get(config);
            }
            return field.get(owner);
        }

        Object byDefault() throws ReflectiveOperationException {
            return of(TcpConfig.DEFAULT);
        }
    }

    private static List<Setting> settings() {
        List<Setting> settings = new ArrayList<>();
        for (Class<?> type : List.of(TcpConfig.class, TcpLimits.class)) {
            for (Field field : type.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && field.getType() != TcpLimits.class
                        && !field.isSynthetic()) {
                    field.setAccessible(true);
                    settings.add(new Setting(field, type == TcpLimits.class));
                }
            }
        }
        return settings;
    }

    private static Map<String, Line> table() throws IOException {
        Map<String, Line> lines = new LinkedHashMap<>();
        for (String line : Files.readAllLines(TABLE)) {
            if (line.startsWith("| `")) {
                String[] cells = Arrays.stream(line.split("\\|")).map(String::strip).toArray(String[]::new);
                String name = cells[1].replace("`", "");
                assertEquals(null, lines.put(name, new Line(name, cells[2], cells[3], cells[4])), name + " twice");
            }
        }
        return lines;
    }

    @Test
    void theTableHasEverySettingAndNoOther() throws IOException {
        Set<String> names = new TreeSet<>();
        settings().forEach(setting -> names.add(setting.name()));
        assertEquals(names, new TreeSet<>(table().keySet()));
    }

    @Test
    void theTableHasTheDefaults() throws Exception {
        Map<String, Line> table = table();
        for (Setting setting : settings()) {
            Line line = table.get(setting.name());
            assertNotNull(line, setting.name());
            assertEquals(setting.isDuration(), line.unit().equals("duration"), line.toString());
            if (!line.setBy().equals("none") && !IN_WORDS.contains(setting.name())) {
                assertEquals(text(setting, setting.byDefault()), line.defaultText(), setting.name());
            }
        }
        assertEquals("cubic", table.get("congestionControl").defaultText());
        assertEquals("cubic", RdmaRawIoHandlerConfig.defaults().congestionControl());
    }

    private static String text(Setting setting, Object value) {
        if (!setting.isDuration()) {
            return value.toString();
        }
        long nanos = (long) value;
        return nanos % SECOND_NANOS == 0 ? nanos / SECOND_NANOS + " s" : nanos / MILLI_NANOS + " ms";
    }

    /** A value set by the API named in the table reaches the configuration of the core. */
    @Test
    void everySettingReachesCoreAsDocumented() throws Exception {
        Map<String, Line> table = table();
        for (Setting setting : settings()) {
            String name = setting.name();
            switch (table.get(name).setBy()) {
                case "tcp" -> {
                    RdmaRawTcpSettings tcp = new RdmaRawTcpSettings();
                    Object other = set(tcp, name, setting);
                    assertArrives(setting, other, RdmaRawIoHandlerConfig.builder().tcp(tcp));
                }
                case "limits" -> {
                    RdmaRawTcpLimits limits = new RdmaRawTcpLimits();
                    Object other = set(limits, name, setting);
                    assertArrives(setting, other, RdmaRawIoHandlerConfig.builder().tcpLimits(limits));
                }
                case "group" -> {
                    RdmaRawIoHandlerConfig.Builder builder = RdmaRawIoHandlerConfig.builder();
                    if (name.equals("congestionControl")) {
                        builder.congestionControl("reno");
                        var factory = (CongestionControl.Factory) setting.of(coreOf(builder));
                        assertEquals("reno", factory.create().name());
                    } else if (name.equals("fastOpenKey")) {
                        builder.fastOpenKey(7, 7);
                        assertEquals(7L, setting.of(coreOf(builder)));
                    } else {
                        assertArrives(setting, set(builder, name, setting), builder);
                    }
                }
                case "option", "none" -> {
                }
                default -> throw new AssertionError(table.get(name).toString());
            }
        }
    }

    private static TcpConfig coreOf(RdmaRawIoHandlerConfig.Builder builder) {
        return builder.build().tcpConfig(1500, 4, 0);
    }

    private static void assertArrives(Setting setting, Object value, RdmaRawIoHandlerConfig.Builder builder)
            throws ReflectiveOperationException {
        assertNotEquals(setting.byDefault(), value);
        assertEquals(value, setting.of(coreOf(builder)), setting.name());
        assertEquals(value, setting.of(coreOf(builder.build().toBuilder())), setting.name() + " of a builder again");
    }

    /** Sets a value other than the default and returns the value expected in the core. */
    private static Object set(Object settings, String name, Setting setting) throws ReflectiveOperationException {
        Method setter = Arrays.stream(settings.getClass().getMethods()).filter(m -> m.getName().equals(name))
                .findAny().orElseThrow(() -> new AssertionError(settings.getClass() + " has no " + name));
        Object now = setting.byDefault();
        Class<?> type = setter.getParameterTypes()[0];
        if (setting.isDuration()) {
            long other = (long) now + MILLI_NANOS;
            setter.invoke(settings, other, TimeUnit.NANOSECONDS);
            return other;
        } else if (type == boolean.class) {
            setter.invoke(settings, !(boolean) now);
            return !(boolean) now;
        } else if (type.isEnum()) {
            Object[] mine = type.getEnumConstants();
            Object[] cores = setting.field().getType().getEnumConstants();
            assertEquals(Arrays.toString(cores), Arrays.toString(mine));
            int other = (((Enum<?>) now).ordinal() + 1) % cores.length;
            setter.invoke(settings, mine[other]);
            return cores[other];
        } else if (type == long.class) {
            setter.invoke(settings, (long) now + 1);
            return (long) now + 1;
        }
        setter.invoke(settings, (int) now + 1);
        return (int) now + 1;
    }

    @Test
    void laterChangesAreNotSeen() throws Exception {
        RdmaRawTcpSettings tcp = new RdmaRawTcpSettings().maxTimeouts(7);
        RdmaRawIoHandlerConfig.Builder builder = RdmaRawIoHandlerConfig.builder().tcp(tcp);
        tcp.maxTimeouts(9);
        Setting maxTimeouts = settings().stream().filter(s -> s.name().equals("maxTimeouts")).findAny().orElseThrow();
        assertEquals(7, maxTimeouts.of(coreOf(builder)));
    }

    @Test
    void invalidValuesAreRejectedAtOnce() {
        assertTrue(assertThrows(IllegalArgumentException.class, () -> new RdmaRawTcpSettings().maxTimeouts(0))
                .getMessage().startsWith("maxTimeouts is 0;"));
        assertThrows(IllegalArgumentException.class, () -> new RdmaRawTcpSettings().timeWait(-1, TimeUnit.SECONDS));
        RdmaRawIoHandlerConfig.Builder builder = RdmaRawIoHandlerConfig.builder().minRto(50, TimeUnit.SECONDS)
                .tcp(new RdmaRawTcpSettings().maxRto(2, TimeUnit.SECONDS));
        assertTrue(assertThrows(IllegalArgumentException.class, builder::build).getMessage().contains("lower it"));
    }

    @Test
    void channelReportsInitialReceiveBufferSize() {
        assertEquals(262_144, new RdmaRawSocketChannel().config().getReceiveBufferSize());
        assertEquals(262_144, new RdmaRawServerSocketChannel().config().getReceiveBufferSize());
    }
}
