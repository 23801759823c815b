BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0002');
CREATE TABLE keys (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(64) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	scopes VARCHAR(200) NOT NULL, 
	created FLOAT NOT NULL, 
	revoked FLOAT, 
	PRIMARY KEY (id), 
	UNIQUE (name), 
	UNIQUE (digest)
);
INSERT INTO "keys" VALUES('3b451ea31adb08bb','old','e4baf404745a3dbe32c635955bc78bfeafad545e03e8d195ac6b9a16d43ec105','summaries batches reviews metrics',1.7958087173486359119e+09,NULL);
CREATE TABLE batches (
	id VARCHAR(32) NOT NULL, 
	key_id VARCHAR(32) NOT NULL, 
	created FLOAT NOT NULL, 
	total INTEGER NOT NULL, 
	options JSON NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(key_id) REFERENCES keys (id)
);
INSERT INTO "batches" VALUES('72ff98f5815eb467','3b451ea31adb08bb',1.79580871736557650571e+09,2,'{"style": "faithful", "template": "call", "length": "short"}');
CREATE TABLE audit (
	number INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	key_id VARCHAR(32) NOT NULL, 
	action VARCHAR(32) NOT NULL, 
	subject VARCHAR(32) NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "audit" VALUES(1,1.79580871734945106505e+09,'3b451ea31adb08bb','key added','3b451ea31adb08bb');
INSERT INTO "audit" VALUES(2,1.79580871736652398105e+09,'3b451ea31adb08bb','batch added','72ff98f5815eb467');
INSERT INTO "audit" VALUES(3,1.79580871797964215274e+09,'3b451ea31adb08bb','review added','115ec11410bece23');
CREATE TABLE batch_items (
	batch_id VARCHAR(32) NOT NULL, 
	number INTEGER NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	tries INTEGER NOT NULL, 
	owner VARCHAR(32) NOT NULL, 
	lease FLOAT NOT NULL, 
	dialogue JSON, 
	result JSON, 
	PRIMARY KEY (batch_id, number), 
	FOREIGN KEY(batch_id) REFERENCES batches (id) ON DELETE CASCADE
);
INSERT INTO "batch_items" VALUES('72ff98f5815eb467',0,'waiting',0,'',0.0,'{"id": "call-17", "utterances": [{"speaker": "Ann", "text": "My order 4711 has not arrived yet."}, {"speaker": "Bo", "text": "I will send a new one today, free of charge."}]}','null');
INSERT INTO "batch_items" VALUES('72ff98f5815eb467',1,'waiting',0,'',0.0,'{"id": "b", "utterances": [{"speaker": "Ann", "text": "My order 4711 has not arrived yet."}, {"speaker": "Bo", "text": "I will send a new one today, free of charge."}]}','null');
CREATE TABLE feedback (
	id VARCHAR(32) NOT NULL, 
	key_id VARCHAR(32) NOT NULL, 
	created FLOAT NOT NULL, 
	verdict VARCHAR(16) NOT NULL, 
	edits JSON NOT NULL, 
	content JSON, 
	PRIMARY KEY (id), 
	FOREIGN KEY(key_id) REFERENCES keys (id)
);
CREATE TABLE idempotency (
	key_id VARCHAR(32) NOT NULL, 
	value VARCHAR(128) NOT NULL, 
	request VARCHAR(64) NOT NULL, 
	subject VARCHAR(32) NOT NULL, 
	created FLOAT NOT NULL, 
	PRIMARY KEY (key_id, value)
);
CREATE TABLE reviews (
	id VARCHAR(32) NOT NULL, 
	key_id VARCHAR(32) NOT NULL, 
	created FLOAT NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	dialogue JSON, 
	summary JSON, 
	PRIMARY KEY (id), 
	FOREIGN KEY(key_id) REFERENCES keys (id)
);
INSERT INTO "reviews" VALUES('115ec11410bece23','3b451ea31adb08bb',1.79580871797817611694e+09,'open','{"id": "call-17", "utterances": [{"speaker": "Ann", "text": "My order 4711 has not arrived yet.", "role": ""}, {"speaker": "Bo", "text": "I will send a new one today, free of charge.", "role": ""}], "profile": {}}','{"schema_version": 3, "text": "Ann''s order 4711 has not arrived yet. Bo will send a new one today, free of charge.", "id": "call-17", "status": "ok", "reason": "", "score": null, "key_points": [], "sentences": [{"text": "Ann''s order 4711 has not arrived yet.", "start": 0, "end": 37, "label": "", "evidence": [{"utterance": 0, "start": 0, "end": 34, "score": 0.9974}], "confidence": 0.9974, "check": "passed", "kind": "reported", "profile": []}, {"text": "Bo will send a new one today, free of charge.", "start": 38, "end": 83, "label": "", "evidence": [{"utterance": 1, "start": 0, "end": 44, "score": 0.9999}], "confidence": 0.9999, "check": "passed", "kind": "reported", "profile": []}], "coverage": {"utterances": 2, "utterances_read": 2, "tokens": 17, "tokens_read": 17, "target_cut": 0, "windows": [], "dropped": [], "use": []}, "warnings": [], "entities": [], "alternatives": [], "timings": {"select": 0.592279, "total": 0.592279}, "model": "default", "licence": "Apache-2.0"}');
CREATE TABLE sessions (
	digest VARCHAR(64) NOT NULL, 
	key_id VARCHAR(32) NOT NULL, 
	expires FLOAT NOT NULL, 
	PRIMARY KEY (digest), 
	FOREIGN KEY(key_id) REFERENCES keys (id)
);
CREATE INDEX ix_batches_created ON batches (created);
CREATE INDEX batch_items_state ON batch_items (state, lease);
CREATE INDEX ix_idempotency_created ON idempotency (created);
CREATE INDEX ix_audit_at ON audit (at);
CREATE INDEX ix_reviews_state ON reviews (state);
CREATE INDEX ix_reviews_created ON reviews (created);
CREATE INDEX ix_feedback_created ON feedback (created);
CREATE INDEX ix_feedback_verdict ON feedback (verdict);
COMMIT;
