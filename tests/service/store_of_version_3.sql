BEGIN TRANSACTION;
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
INSERT INTO "keys" VALUES('bc77d1fb17a5d248','old','310fcab096e4f631b4a8dfde51a0e045e46842e28e439e39bec7acd50c99da7c','summaries batches reviews metrics',1.7958431455207104683e+09,NULL);
CREATE TABLE batches (
	id VARCHAR(32) NOT NULL, 
	key_id VARCHAR(32) NOT NULL, 
	created FLOAT NOT NULL, 
	total INTEGER NOT NULL, 
	options JSON NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(key_id) REFERENCES keys (id)
);
CREATE TABLE audit (
	number INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	key_id VARCHAR(32) NOT NULL, 
	action VARCHAR(32) NOT NULL, 
	subject VARCHAR(32) NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "audit" VALUES(1,1.79584314552153468131e+09,'bc77d1fb17a5d248','key added','bc77d1fb17a5d248');
INSERT INTO "audit" VALUES(2,1.7958431459030697346e+09,'bc77d1fb17a5d248','review added','1db800c916aa97ca');
INSERT INTO "audit" VALUES(3,1.79584314633620810508e+09,'bc77d1fb17a5d248','review added','b5ee5a7474f76ed7');
INSERT INTO "audit" VALUES(4,1.79584314661649441721e+09,'bc77d1fb17a5d248','review added','ea9ba0a9215b3806');
INSERT INTO "audit" VALUES(5,1.7958431466187605858e+09,'bc77d1fb17a5d248','review approved','ea9ba0a9215b3806');
INSERT INTO "audit" VALUES(6,1.79584314661885309223e+09,'bc77d1fb17a5d248','feedback added','24318c3d5a5ea237');
INSERT INTO "audit" VALUES(7,1.79584314702473282808e+09,'bc77d1fb17a5d248','feedback added','00f4f9c675698a90');
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
INSERT INTO "feedback" VALUES('24318c3d5a5ea237','bc77d1fb17a5d248',1.79584314661754059798e+09,'approved','{}','null');
INSERT INTO "feedback" VALUES('00f4f9c675698a90','bc77d1fb17a5d248',1.79584314661894273753e+09,'edited','{"kept": 1}','{"dialogue": {"id": "x", "utterances": [{"speaker": "[PERSON_1]", "text": "My phone is [PHONE_1], call me.", "role": "", "start": null, "end": null}], "profile": {}}, "before": "x", "after": "[PERSON_1] waits."}');
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
INSERT INTO "reviews" VALUES('1db800c916aa97ca','bc77d1fb17a5d248',1.79584314590156245228e+09,'open','{"id": "case-7", "utterances": [{"speaker": "Guest", "text": "My number is 415 555 0132. The sink leaks.", "role": "", "start": null, "end": null}, {"speaker": "Agent", "text": "I will send a plumber today at noon.", "role": "", "start": null, "end": null}, {"speaker": "Guest", "text": "Thanks a lot, bye.", "role": "", "start": null, "end": null}], "profile": {}}','{"schema_version": 4, "text": "Guest: \u201cMy number is 415 555 0132. The sink leaks.\u201d", "id": "case-7", "status": "ok", "reason": "", "statements": [{"text": "Guest: \u201cMy number is 415 555 0132. The sink leaks.\u201d", "start": 0, "end": 51, "section": "", "evidence": [{"utterance": 0, "start": 0, "end": 42, "score": 1.0}], "verdict": "quoted", "reasons": [], "importance": 0.9851, "profile": [], "owner": "", "deadline": "", "replaced": ""}], "coverage": {"utterances": 3, "utterances_read": 3, "words": 21, "words_read": 21}, "warnings": [], "timings": {"write": 0.286752, "ground": 8.4e-05, "total": 0.286913}, "writer": "highlights", "licence": "Apache-2.0", "sent": [], "utterances": [{"speaker": "Guest", "text": "My number is 415 555 0132. The sink leaks."}, {"speaker": "Agent", "text": "I will send a plumber today at noon."}, {"speaker": "Guest", "text": "Thanks a lot, bye."}]}');
INSERT INTO "reviews" VALUES('b5ee5a7474f76ed7','bc77d1fb17a5d248',1.79584314633525371548e+09,'open','{"id": "case-7", "utterances": [{"speaker": "Guest", "text": "My number is 415 555 0132. The sink leaks.", "role": "", "start": null, "end": null}, {"speaker": "Agent", "text": "I will send a plumber today at noon.", "role": "", "start": null, "end": null}, {"speaker": "Guest", "text": "Thanks a lot, bye.", "role": "", "start": null, "end": null}], "profile": {}}','{"schema_version": 4, "text": "Guest: \u201cMy number is 415 555 0132. The sink leaks.\u201d", "id": "case-7", "status": "ok", "reason": "", "statements": [{"text": "Guest: \u201cMy number is 415 555 0132. The sink leaks.\u201d", "start": 0, "end": 51, "section": "", "evidence": [{"utterance": 0, "start": 0, "end": 42, "score": 1.0}], "verdict": "quoted", "reasons": [], "importance": 0.9851, "profile": [], "owner": "", "deadline": "", "replaced": ""}], "coverage": {"utterances": 3, "utterances_read": 3, "words": 21, "words_read": 21}, "warnings": [], "timings": {"write": 0.269599, "ground": 8.4e-05, "total": 0.415469}, "writer": "highlights", "licence": "Apache-2.0", "sent": [], "utterances": [{"speaker": "Guest", "text": "My number is 415 555 0132. The sink leaks."}, {"speaker": "Agent", "text": "I will send a plumber today at noon."}, {"speaker": "Guest", "text": "Thanks a lot, bye."}], "filled": {"schema_version": 3, "form": "call", "version": 3, "language": "en", "id": "case-7", "sections": [{"title": "Issue", "source": "issue", "entries": [], "says": "None found.", "missing": true, "more": 0, "unclear": false, "elsewhere": false}, {"title": "What was done", "source": "done", "entries": [], "says": "None found.", "missing": false, "more": 0, "unclear": false, "elsewhere": false}, {"title": "How it ended", "source": "outcome", "entries": [{"text": "Agent: \"I will send a plumber today at noon.\"", "origin": "dialogue", "evidence": [{"utterance": 1, "start": 0, "end": 36, "score": 1.0}], "verdict": "quoted", "reasons": [], "owner": "Agent", "deadline": "", "type": "", "role": "", "profile": []}], "says": "", "missing": false, "more": 0, "unclear": false, "elsewhere": false}, {"title": "Next steps", "source": "actions", "entries": [{"text": "Agent: \"I will send a plumber today at noon.\"", "origin": "dialogue", "evidence": [{"utterance": 1, "start": 0, "end": 36, "score": 1.0}], "verdict": "quoted", "reasons": [], "owner": "Agent", "deadline": "today", "type": "", "role": "", "profile": []}], "says": "", "missing": false, "more": 0, "unclear": false, "elsewhere": false}, {"title": "Summary", "source": "summary", "entries": [{"text": "Guest: \u201cMy number is 415 555 0132. The sink leaks.\u201d", "origin": "summary", "evidence": [{"utterance": 0, "start": 0, "end": 42, "score": 1.0}], "verdict": "quoted", "reasons": [], "owner": "", "deadline": "", "type": "", "role": "", "profile": []}], "says": "", "missing": false, "more": 0, "unclear": false, "elsewhere": false}, {"title": "Contact number", "source": "field", "entries": [{"text": "415 555 0132", "origin": "dialogue", "evidence": [{"utterance": 0, "start": 13, "end": 25, "score": 1.0}], "verdict": "", "reasons": [], "owner": "", "deadline": "", "type": "phone", "role": "", "profile": []}], "says": "", "missing": false, "more": 0, "unclear": false, "elsewhere": false}], "left_out": [], "notes": [], "missing": ["Issue"]}}');
INSERT INTO "reviews" VALUES('ea9ba0a9215b3806','bc77d1fb17a5d248',1.79584314660377025599e+09,'approved','null','null');
CREATE TABLE sessions (
	digest VARCHAR(64) NOT NULL, 
	key_id VARCHAR(32) NOT NULL, 
	expires FLOAT NOT NULL, 
	PRIMARY KEY (digest), 
	FOREIGN KEY(key_id) REFERENCES keys (id)
);
CREATE TABLE store_version (
	version INTEGER NOT NULL
);
INSERT INTO "store_version" VALUES(3);
CREATE INDEX ix_idempotency_created ON idempotency (created);
CREATE INDEX ix_audit_at ON audit (at);
CREATE INDEX ix_batches_created ON batches (created);
CREATE INDEX ix_reviews_state ON reviews (state);
CREATE INDEX ix_reviews_created ON reviews (created);
CREATE INDEX ix_feedback_created ON feedback (created);
CREATE INDEX ix_feedback_verdict ON feedback (verdict);
CREATE INDEX batch_items_state ON batch_items (state, lease);
COMMIT;
