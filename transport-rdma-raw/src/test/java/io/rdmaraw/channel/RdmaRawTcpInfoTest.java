package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmaraw.metrics.RdmaRawTcpInfo;
import io.rdmaraw.tcp.TcpConnectionInfo;
import io.rdmaraw.tcp.TcpState;
import io.rdmaraw.tcp.stack.TcpSnapshots;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** {@link RdmaRawTcpInfo} has each value of the core's snapshot under the same name. */
class RdmaRawTcpInfoTest {
    private final Map<String, Object> said = new HashMap<>();

    /** Returns a distinct value for each component. */
    private Object value(RecordComponent component, int number, boolean flags) {
        Class<?> type = component.getType();
        Object value = type == int.class ? (Object) (1000 + number) : type == long.class ? 1_000_000_000_000L + number
                : type == boolean.class ? flags : type == TcpState.class ? TcpState.CLOSE_WAIT : "name " + number;
        said.put(component.getName(), value);
        return value;
    }

    private TcpConnectionInfo core(boolean flags) throws ReflectiveOperationException {
        RecordComponent[] components = TcpConnectionInfo.class.getRecordComponents();
        Object[] values = new Object[components.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = value(components[i], i, flags);
        }
        return TcpConnectionInfo.class.getConstructor(Arrays.stream(components).map(RecordComponent::getType)
                .toArray(Class<?>[]::new)).newInstance(values);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void infoHasEachValueOfCore(boolean flags) throws ReflectiveOperationException {
        RdmaRawTcpInfo info = TcpSnapshots.info(core(flags));
        said.put("state", "CLOSE_WAIT");
        for (RecordComponent component : RdmaRawTcpInfo.class.getRecordComponents()) {
            assertEquals(said.get(component.getName()), component.getAccessor().invoke(info), component.getName());
        }
    }

    @Test
    void infoHasAllComponents() {
        assertEquals(52, RdmaRawTcpInfo.class.getRecordComponents().length);
    }
}
