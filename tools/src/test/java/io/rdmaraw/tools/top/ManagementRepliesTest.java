package io.rdmaraw.tools.top;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InvalidClassException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.util.List;
import javax.management.openmbean.CompositeData;
import javax.management.openmbean.CompositeDataSupport;
import javax.management.openmbean.CompositeType;
import javax.management.openmbean.OpenType;
import javax.management.openmbean.SimpleType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ManagementRepliesTest {
    private static Object passed(Serializable object) throws IOException, ClassNotFoundException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(object);
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            in.setObjectInputFilter(ManagementReplies.FILTER);
            return in.readObject();
        }
    }

    @Test
    void rowsOfTheTransportAreRead() throws Exception {
        CompositeType type = new CompositeType("row", "a row", new String[] {"name", "frames:in"},
                new String[] {"its name", "frames"}, new OpenType<?>[] {SimpleType.STRING, SimpleType.LONG});
        CompositeData[] rows = {new CompositeDataSupport(type, new String[] {"name", "frames:in"},
                new Object[] {"soft:loop", 7L})};
        assertEquals(rows[0], ((CompositeData[]) passed(rows))[0]);
    }

    @Test
    void objectsOfOtherKindsAreRefused() {
        assertThrows(InvalidClassException.class, () -> passed(new File("/")));
        assertThrows(InvalidClassException.class, () -> passed((Serializable) List.of(new File("/"))));
    }

    @ParameterizedTest
    @ValueSource(strings = {"service:jmx:rmi:///jndi/rmi://127.0.0.1/x", "service:jmx:rmi://192.0.2.1/stub/rO0AB",
        "service:jmx:rmi://127.0.0.1/jndi/ldap://192.0.2.1/x", "service:jmx:jmxmp://127.0.0.1:9/stub/", "nothing"})
    void otherAgentsAreNotAsked(String url) {
        assertThrows(IOException.class, () -> ManagementReplies.localAgent(url));
    }

    @Test
    void aLocalAgentIsAsked() throws IOException {
        String url = "service:jmx:rmi://127.0.0.1/stub/rO0AB";
        assertEquals(url, ManagementReplies.localAgent(url).toString());
    }
}
